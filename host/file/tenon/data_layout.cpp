#include "file/tenon/data_layout.hpp"

#include <span>

#include "file/tenon/layout.hpp"

namespace tenon {
namespace {

std::uint32_t place(DataLayout& data, std::uint32_t segment, const Tensor& array) {
  Placement place;
  place.array = array.to("cpu").make_contiguous();
  place.segment = segment;
  place.offset = layout::align(data.size, layout::tensor_alignment);
  place.size = static_cast<std::uint64_t>(place.array.bytes());
  place.checksum =
      layout::checksum({static_cast<const std::byte*>(place.array.data()), place.size});
  data.size = place.offset + place.size;
  data.buffers.push_back(std::move(place));
  return static_cast<std::uint32_t>(data.buffers.size() - 1);
}

void add_tensor(DataLayout& data, std::uint32_t segment, const Tensor& tensor) {
  DataLayout::Stored stored{tensor, place(data, segment, tensor.stored_values()), none, none};
  if (tensor.storage() == Storage::csr) stored.indices = place(data, segment, tensor.columns());
  if (tensor.storage() == Storage::csr)
    stored.row_starts = place(data, segment, tensor.row_starts());
  if (tensor.storage() == Storage::row_sparse)
    stored.indices = place(data, segment, tensor.row_ids());
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
