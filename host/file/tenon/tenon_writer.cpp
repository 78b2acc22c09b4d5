#include "file/tenon/data_layout.hpp"
#include "file/tenon/file_order.hpp"
#include "file/tenon/layout.hpp"
#include "file/tenon/metadata_writer.hpp"
#include "file/tenon/tenon_file.hpp"
#include "io/atomic_file.hpp"

namespace tenon {

void write_tenon(const GraphModel& model, const std::filesystem::path& path) {
  const auto order = file_order(model);
  const auto data = lay_out(model, order);
  const auto metadata = write_metadata(model, order, data, path);

  layout::Header header;
  header.metadata_size = metadata.size();
  header.metadata_checksum = layout::checksum(metadata);
  header.file_size = layout::header_size + metadata.size();
  if (!data.tensors.empty()) {
    header.data_offset = layout::align(header.file_size, layout::segment_alignment);
    header.file_size = header.data_offset + data.size;
  }

  AtomicFile file(path);
  file.write(layout::encode(header));
  file.write(metadata);
  file.resize(header.file_size);  // what stands between is zeros
  for (const auto& place : data.buffers)
    file.write_at(header.data_offset + place.offset, {static_cast<const std::byte*>(place.array.data()), place.size});
  file.commit();
}

}  // namespace tenon
