#include <algorithm>

#include "file/tenon/data_layout.hpp"
#include "file/tenon/layout.hpp"
#include "file/tenon/metadata_writer.hpp"
#include "file/tenon/numbering.hpp"
#include "file/tenon/tenon_file.hpp"
#include "io/atomic_file.hpp"
#include "tensor/backing_files.hpp"

namespace tenon {

namespace {

/// The contents of a file before they are written.
struct FileContents {
  FileContents(const GraphModel& model, const std::filesystem::path& path)
      : order(file_order(model)),
        data(lay_out(model, order)),
        metadata(write_metadata(model, order, data, path)) {
    header.metadata_size = metadata.size();
    header.metadata_checksum = layout::checksum(metadata);
    header.file_size = layout::header_size + metadata.size();
    if (data.tensors.empty()) return;
    header.data_offset = layout::align(header.file_size, layout::segment_alignment);
    header.file_size = header.data_offset + data.size;
  }

  /// Calls write_at(offset, bytes) for each chunk; the gaps are zeros.
  template <class WriteAt>
  void put(WriteAt&& write_at) const {
    write_at(0, std::span<const std::byte>(layout::encode(header)));
    write_at(layout::header_size, std::span<const std::byte>(metadata));
    for (const auto& buffer : data.buffers)
      write_at(header.data_offset + buffer.offset,
               std::span(static_cast<const std::byte*>(buffer.array.data()), buffer.size));
  }

  FileOrder order;
  DataLayout data;
  std::vector<std::byte> metadata;
  layout::Header header;
};

}  // namespace

void write_tenon(const GraphModel& model, const std::filesystem::path& path) {
  const BackingFiles sources(model.tensors);
  const FileContents contents(model, path);
  AtomicFile file(path);
  file.resize(contents.header.file_size);
  sources.use([&] {
    contents.put([&](std::uint64_t offset, std::span<const std::byte> bytes) {
      file.write_at(offset, bytes);
    });
  });
  file.commit();
}

std::vector<std::byte> write_tenon(const GraphModel& model) {
  const BackingFiles sources(model.tensors);
  const FileContents contents(model, "graph");
  std::vector<std::byte> bytes(contents.header.file_size);
  contents.put([&](std::uint64_t offset, std::span<const std::byte> chunk) {
    std::copy(chunk.begin(), chunk.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  });
  sources.require_unchanged();
  return bytes;
}

}  // namespace tenon
