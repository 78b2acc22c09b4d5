// Faulty files with valid checksums.
#pragma once
#include <graph_generated.h>

#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "../temporary_folder.hpp"
#include "file/tenon/layout.hpp"
#include "file/tenon/tenon_file.hpp"

/// A file split into its components.
struct FileSections {
  std::string metadata, data;

  static FileSections of(const tenon::GraphModel& graph) {
    const TemporaryFolder folder;
    tenon::write_tenon(graph, folder / "graph.tenon");
    const auto bytes = read_bytes(folder / "graph.tenon");
    const auto header = tenon::layout::decode(std::as_bytes(std::span(bytes)), "graph.tenon");
    FileSections sections;
    sections.metadata = bytes.substr(tenon::layout::header_size, header.metadata_size);
    if (header.data_offset != 0) sections.data = bytes.substr(header.data_offset);
    return sections;
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

/// A file that exists only in memory. Its bytes may be changed between readings.
class ForgedFile {
 public:
  explicit ForgedFile(const std::string& bytes)
      : size_(bytes.size()), blocks_(new Block[size_ / sizeof(Block) + 1]) {
    std::memcpy(blocks_[0].bytes, bytes.data(), size_);
  }
  char* bytes() { return reinterpret_cast<char*>(blocks_[0].bytes); }
  std::span<char> metadata() {
    return {bytes() + tenon::layout::header_size, header().metadata_size};
  }
  char* data() { return bytes() + header().data_offset; }
  /// Recomputes the checksum, so that changed metadata is not refused for it.
  void sign() {
    auto changed = header();
    changed.metadata_checksum = tenon::layout::checksum(std::as_bytes(metadata()));
    const auto head = tenon::layout::encode(changed);
    std::memcpy(bytes(), head.data(), head.size());
  }
  /// Whether tensors of the graph point into the file's memory.
  tenon::GraphModel read(tenon::FileCheck check = tenon::FileCheck::everything) const {
    return tenon::read_tenon({"forged.tenon", {blocks_[0].bytes, size_}, blocks_}, check);
  }

 private:
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  tenon::layout::Header header() const {
    return tenon::layout::decode({blocks_[0].bytes, size_}, "forged.tenon");
  }

  std::size_t size_;
  std::shared_ptr<Block[]> blocks_;
};

inline tenon::GraphModel read_forged(const std::string& bytes,
                                     tenon::FileCheck check = tenon::FileCheck::everything) {
  return ForgedFile(bytes).read(check);
}
