// Files with something wrong in them and every checksum right.
#pragma once
#include <graph_generated.h>

#include <cstring>
#include <functional>
#include <string>

#include "../temporary_folder.hpp"
#include "file/tenon/layout.hpp"
#include "file/tenon/tenon_file.hpp"

/// Reads a file that exists in memory alone.
inline tenon::GraphModel read_forged(const std::string& bytes, tenon::FileCheck check = tenon::FileCheck::everything) {
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  const auto blocks = std::make_shared<std::vector<Block>>(bytes.size() / sizeof(Block) + 1);
  auto* start = blocks->front().bytes;
  std::memcpy(start, bytes.data(), bytes.size());
  return tenon::read_tenon({"forged.tenon", {start, bytes.size()}, blocks}, check);
}

/// A file in its parts.
struct FileParts {
  std::string metadata, data;

  static FileParts of(const tenon::GraphModel& graph) {
    const TemporaryFolder folder;
    tenon::write_tenon(graph, folder / "graph.tenon");
    const auto bytes = read_bytes(folder / "graph.tenon");
    const auto header = tenon::layout::decode(std::as_bytes(std::span(bytes)), "graph.tenon");
    FileParts parts;
    parts.metadata = bytes.substr(tenon::layout::header_size, header.metadata_size);
    if (header.data_offset != 0) parts.data = bytes.substr(header.data_offset);
    return parts;
  }

  std::string bytes() const {
    tenon::layout::Header header;
    header.metadata_size = metadata.size();
    header.metadata_checksum = tenon::layout::checksum(std::as_bytes(std::span(metadata)));
    header.file_size = tenon::layout::header_size + metadata.size();
    if (!data.empty()) {
      header.data_offset = tenon::layout::align(header.file_size, tenon::layout::segment_alignment);
      header.file_size = header.data_offset + data.size();
    }
    const auto head = tenon::layout::encode(header);
    std::string bytes(reinterpret_cast<const char*>(head.data()), head.size());
    bytes += metadata;
    if (!data.empty()) bytes.resize(header.data_offset);
    return bytes + data;
  }

  void change(const std::function<void(tenon::format::ModelT&)>& change) {
    tenon::format::ModelT model;
    tenon::format::GetModel(metadata.data())->UnPackTo(&model);
    change(model);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(tenon::format::Model::Pack(builder, &model));
    metadata.assign(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  }
};
