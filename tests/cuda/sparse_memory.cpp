#include "tensor/sparse/sparse_memory.hpp"

#include <doctest/doctest.h>

#include "failure_of.hpp"
#include "tensor/tensor_device.hpp"

using namespace tenon;

namespace {

// A csr output [2, 3] of a kernel on the first GPU.
struct Output {
  std::int64_t dims[2] = {2, 3};
  tenon_tensor tensor{};
  Output() {
    tensor.size = sizeof tensor;
    tensor.dense.device_type = TENON_CUDA;
    tensor.dense.ndim = 2;
    tensor.dense.shape = dims;
    tensor.storage = TENON_CSR;
    tensor.dtype = TENON_F32;
  }

  // Writes what the kernel would write.
  void fill(std::int64_t second_column) {
    put(Tensor::from({1.f, 2.f}, {2}), tensor.dense.data);
    put(Tensor::from<std::int64_t>({0, second_column}, {2}), tensor.indices);
    put(Tensor::from<std::int64_t>({0, 2, 2}, {3}), tensor.row_starts);
  }
  void put(const Tensor& from, const void* to) const {
    tenon_dense there = tensor.dense;
    there.data = const_cast<void*>(to);
    copy_bytes(from.abi().dense, there, static_cast<std::uint64_t>(from.bytes()));
  }
};

}  // namespace

TEST_SUITE_BEGIN("gpu");

TEST_CASE("sparse outputs of GPU kernels stay on the GPU and are checked when they are released") {
  SparseMemory memory;
  Output output;
  memory.allocate(output.tensor, 2);
  output.fill(2);
  const Tensor taken = memory.release(output.tensor);
  CHECK(taken.device() == "cuda:0");
  CHECK(taken.to_string() == "csr float32 [2, 3], 2 stored on cuda:0  (0, 0) 1 (0, 2) 2");

  memory.allocate(output.tensor, 2);
  CHECK(output.tensor.dense.data != taken.stored_values().data());
  output.fill(3);
  CHECK(sparse_fault(output.tensor).empty());  // not checked yet
  CHECK(failure_of([&] { memory.release(output.tensor); }).message.find("column index 1 is 3") !=
        std::string::npos);
}

TEST_SUITE_END();
