#include <algorithm>
#include <cstring>

#include "file/tenon/checksums.hpp"
#include "file/tenon/read_context.hpp"
#include "file/tenon/tenon_file.hpp"
#include "io/file_memory.hpp"

namespace tenon {
namespace {

/// Copies the metadata, so that a concurrent write to the file cannot change what was checked.
std::vector<std::uint8_t> copy_metadata(std::span<const std::byte> file,
                                        const layout::Header& header,
                                        const std::filesystem::path& path) {
  const auto mapped = file.subspan(layout::header_size, header.metadata_size);
  std::vector<std::uint8_t> metadata(mapped.size());
  if (!mapped.empty()) std::memcpy(metadata.data(), mapped.data(), mapped.size());
  if (layout::checksum(std::as_bytes(std::span(metadata))) != header.metadata_checksum)
    refuse_file(path, "the metadata is damaged: its checksum does not match");
  return metadata;
}

const format::Model& verify(const std::vector<std::uint8_t>& metadata,
                            const std::filesystem::path& path) {
  // Every table is reached through a four-byte offset, so this does not limit valid files and keeps
  // the work linear for others.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(metadata.size() / 4 + 1);
  flatbuffers::Verifier verifier(metadata.data(), metadata.size(), 8, max_tables);
  if (!format::VerifyModelBuffer(verifier))
    refuse_file(path,
                "the metadata is not a valid FlatBuffer: an offset or a length points outside it");
  return *format::GetModel(metadata.data());
}

void read_model(ReadContext& reading) {
  read_texts(reading);
  read_features(reading);
  read_notes(reading);
  read_types(reading);
  read_buffers(reading);
  read_tensors(reading);
  read_operators(reading);
  const auto& graph = *reading.file.graphs()->Get(0);
  read_values(reading, graph);
  read_nodes(reading, graph);
  read_outputs(reading, graph);
  read_training(reading);
}

/// Whether one of the tensor's arrays begins at `begin`.
bool begins_at(const Tensor& tensor, const std::byte* begin) {
  const auto& abi = tensor.abi();
  return abi.dense.data == begin ||
         (tensor.storage() != Storage::dense && (abi.indices == begin || abi.row_starts == begin));
}

std::string owner_of(const ReadContext& reading, std::span<const std::byte> bytes) {
  for (const auto& value : reading.model.values)
    if (value.tensor != none && begins_at(reading.model.tensors[value.tensor], bytes.data()))
      return fmt::format("'{}'", reading.text(value.name));
  if (reading.model.training)
    for (const auto& slot : reading.model.training->slots)
      if (begins_at(reading.model.tensors[slot.tensor], bytes.data()))
        return fmt::format("slot '{}' of '{}'", slot.name,
                           value_label(reading.model, slot.variable));
  return "an unused tensor";
}

void require_zeros(const ReadContext& reading, const std::byte* begin, const std::byte* end) {
  if (std::any_of(begin, end, [](std::byte byte) { return byte != std::byte{}; }))
    reading.refuse(
        "the bytes between two tensors are not zero: the file is damaged or has hidden content");
}

/// `end`: the end of the metadata, which was checked before.
void check_data(const ReadContext& reading, const std::byte* end) {
  if (reading.data.empty()) return;
  std::vector<Checked> checked;
  for (std::uint32_t i = 0; i < reading.buffers.size(); ++i)
    checked.push_back({reading.buffers[i], reading.file.buffers()->Get(i)->checksum()});
  if (const auto damaged = first_damaged(checked); damaged < checked.size())
    reading.refuse("the data of {} is damaged: the checksum of its {} bytes does not match",
                   owner_of(reading, reading.buffers[damaged]), reading.buffers[damaged].size());
  for (const auto bytes : reading.buffers) {
    require_zeros(reading, end, bytes.data());
    end = bytes.data() + bytes.size();
  }
  require_zeros(reading, end, reading.data.data() + reading.data.size());
}

}  // namespace

GraphModel read_tenon(const FileBytes& file, FileCheck check) {
  const auto header = layout::decode(file.bytes, file.path);
  const auto metadata = copy_metadata(file.bytes, header, file.path);
  const auto data =
      header.data_offset == 0 ? std::span<std::byte>() : file.bytes.subspan(header.data_offset);
  ReadContext reading{
      file.path,      verify(metadata, file.path), header.metadata_size, data, file.owner,
      file.may_change};
  read_model(reading);
  if (check == FileCheck::everything)
    check_data(reading, file.bytes.data() + layout::header_size + header.metadata_size);
  return std::move(reading.model);
}

GraphModel read_tenon(const std::filesystem::path& path, FileCheck check, std::uint64_t map_above) {
  const auto file = FileMemory::open(path, map_above);
  try {
    auto model =
        read_tenon({path, {file->data(), file->bytes().size()}, file, file->mapped()}, check);
    file->require_unchanged();
    return model;
  } catch (const Failure&) {
    file->require_unchanged();  // if so, this is the cause
    throw;
  }
}

}  // namespace tenon
