#include "file/data_layout.hpp"

#include "file/layout.hpp"

namespace tenon {

DataLayout lay_out(const GraphModel& model, const std::vector<std::uint32_t>& tensors) {
  DataLayout data;
  for (const auto id : tensors) {
    Placement place;
    place.tensor = model.tensors[id].make_contiguous();
    place.offset = layout::align(data.size, layout::tensor_alignment);
    place.size = static_cast<std::uint64_t>(place.tensor.bytes());
    place.checksum = layout::checksum({static_cast<const std::byte*>(place.tensor.data()), place.size});
    data.size = place.offset + place.size;
    data.tensors.push_back(std::move(place));
  }
  return data;
}

}  // namespace tenon
