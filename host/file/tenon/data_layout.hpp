// Where each tensor stands in the data of a file.
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
  std::uint64_t offset = 0, size = 0, checksum = 0;  // from the beginning of the data
};

/// What a training needs besides stands apart, so that those who only run the graph never touch it.
struct DataLayout {
  struct Segment {
    const char* purpose;
    std::uint64_t offset, size;
  };
  struct Stored {
    Tensor tensor;
    std::uint32_t values, indices, row_starts;  // into buffers; none where the storage has no such array
  };
  std::vector<Segment> segments;
  std::vector<Placement> buffers;
  std::vector<Stored> tensors;
  std::uint64_t size = 0;
};

DataLayout lay_out(const GraphModel& model, const FileOrder& order);

}  // namespace tenon
