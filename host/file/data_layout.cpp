#include "file/data_layout.hpp"

#include <span>

#include "file/layout.hpp"

namespace tenon {
namespace {

void add_segment(DataLayout& data, const GraphModel& model, const char* purpose, std::span<const std::uint32_t> tensors) {
  if (tensors.empty()) return;
  const auto begin = layout::align(data.size, layout::segment_alignment);
  const auto segment = static_cast<std::uint32_t>(data.segments.size());
  data.size = begin;
  for (const auto id : tensors) {
    Placement place;
    place.tensor = model.tensors[id].make_contiguous();
    place.segment = segment;
    place.offset = layout::align(data.size, layout::tensor_alignment);
    place.size = static_cast<std::uint64_t>(place.tensor.bytes());
    place.checksum = layout::checksum({static_cast<const std::byte*>(place.tensor.data()), place.size});
    data.size = place.offset + place.size;
    data.tensors.push_back(std::move(place));
  }
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
