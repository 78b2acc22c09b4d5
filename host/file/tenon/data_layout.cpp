#include "file/tenon/data_layout.hpp"

#include <span>

#include "file/tenon/layout.hpp"

namespace tenon {
namespace {

std::uint32_t store(DataLayout& data, std::uint32_t segment, const Tensor& array) {
  Placement buffer;
  buffer.array = array.to("cpu").make_contiguous();
  buffer.segment = segment;
  buffer.offset = layout::align(data.size, layout::tensor_alignment);
  buffer.size = static_cast<std::uint64_t>(buffer.array.bytes());
  buffer.checksum =
      layout::checksum({static_cast<const std::byte*>(buffer.array.data()), buffer.size});
  data.size = buffer.offset + buffer.size;
  data.buffers.push_back(std::move(buffer));
  return static_cast<std::uint32_t>(data.buffers.size() - 1);
}

void add_tensor(DataLayout& data, std::uint32_t segment, const Tensor& tensor) {
  DataLayout::Stored stored{tensor, store(data, segment, tensor.stored_values()), none, none};
  if (tensor.storage() == Storage::csr) stored.indices = store(data, segment, tensor.columns());
  if (tensor.storage() == Storage::csr)
    stored.row_starts = store(data, segment, tensor.row_starts());
  if (tensor.storage() == Storage::row_sparse)
    stored.indices = store(data, segment, tensor.row_ids());
  data.tensors.push_back(stored);
}

void add_segment(DataLayout& data, const GraphModel& model, const char* purpose,
                 std::span<const std::uint32_t> tensors) {
  if (tensors.empty()) return;
  const auto begin = layout::align(data.size, layout::segment_alignment);
  const auto segment = static_cast<std::uint32_t>(data.segments.size());
  data.size = begin;
  for (const auto id : tensors) add_tensor(data, segment, model.tensors[id]);
  data.segments.push_back({purpose, begin, data.size - begin});
}

}  // namespace

DataLayout lay_out(const GraphModel& model, const FileOrder& order) {
  const std::span<const std::uint32_t> tensors(order.tensors.order());
  DataLayout data;
  add_segment(data, model, "weights", tensors.first(order.weights));
  add_segment(data, model, "training", tensors.subspan(order.weights));
  return data;
}

}  // namespace tenon
