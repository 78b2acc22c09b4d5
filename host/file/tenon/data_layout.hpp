// The location of each tensor in a file's data.
#pragma once
#include <cstdint>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "file/tenon/numbering.hpp"
#include "graph/model.hpp"

namespace tenon {

/// A buffer of the file: the elements of a dense tensor, or one array of a sparse one.
struct Placement {
  Tensor array;  // dense, contiguous
  std::uint32_t segment = 0;
  std::uint64_t offset = 0, size = 0, checksum = 0;  // offset: from the beginning of the data
};

/// Tensors that only training needs have their own segment, so that inference never touches it.
struct DataLayout {
  struct Segment {
    const char* purpose;
    std::uint64_t offset, size;
  };
  struct Stored {
    Tensor tensor;
    std::uint32_t values, indices, row_starts;  // indices into buffers; none: not in this storage
  };
  std::vector<Segment> segments;
  std::vector<Placement> buffers;
  std::vector<Stored> tensors;
  std::uint64_t size = 0;
};

DataLayout lay_out(const GraphModel& model, const FileOrder& order);

}  // namespace tenon
