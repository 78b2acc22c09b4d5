// Where each tensor stands in the data of a file.
#pragma once
#include <cstdint>
#include <tenon/tensor.hpp>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

struct Placement {
  Tensor tensor;  // contiguous
  std::uint64_t offset = 0, size = 0, checksum = 0;
};

/// One segment with all tensors, in the order given.
struct DataLayout {
  std::vector<Placement> tensors;
  std::uint64_t size = 0;
};

DataLayout lay_out(const GraphModel& model, const std::vector<std::uint32_t>& tensors);

}  // namespace tenon
