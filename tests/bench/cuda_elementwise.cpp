// Elementwise kernels on a GPU compared with a device-to-device copy: 2^28 float32, or as many as
// fit. `copy` is the memory bandwidth; the goal is 90 % of it.
#include "cuda_kernel.hpp"
#include "device/block.hpp"
#include "device/stream.hpp"

using namespace tenon;

namespace {

// Three arrays of n initialized floats.
struct Arrays {
  Stream stream{find_device("cuda")};
  std::int64_t n = size();
  std::uint64_t bytes = static_cast<std::uint64_t>(n) * sizeof(float);
  Block left{stream, bytes, "the benchmark"}, right{stream, bytes, "the benchmark"},
      out{stream, bytes, "the benchmark"};

  Arrays() {
    std::vector<float> values(1 << 20, 0.5f);
    const auto part = values.size() * sizeof(float);
    for (const Block* block : {&left, &right})
      for (std::uint64_t at = 0; at < bytes; at += part)
        copy(block->address(at), {cpu_device(), reinterpret_cast<std::byte*>(values.data())},
             std::min(part, bytes - at), stream);
    stream.synchronize();
  }
  static std::int64_t size() {
    std::int64_t n = 1 << 28;
    while (static_cast<std::uint64_t>(n) * 4 * sizeof(float) > find_device("cuda").memory().free)
      n /= 2;
    return n;
  }
};

void count_bytes(benchmark::State& state, const Arrays& arrays, int moved) {
  state.SetBytesProcessed(state.iterations() * arrays.n * moved *
                          static_cast<std::int64_t>(sizeof(float)));
}

void device_copy(benchmark::State& state) {
  const Arrays arrays;
  for (auto _ : state) {
    copy(arrays.out.address(), arrays.left.address(), arrays.bytes, arrays.stream);
    arrays.stream.synchronize();
  }
  count_bytes(state, arrays, 2);
}

void one_input(benchmark::State& state, const char* op) {
  CudaKernel kernel(op);
  const Arrays arrays;
  for (auto _ : state) {
    kernel.forward({arrays.left.data()}, arrays.out.data(), arrays.n, arrays.stream.handle());
    arrays.stream.synchronize();
  }
  count_bytes(state, arrays, 2);
}

void two_inputs(benchmark::State& state, const char* op) {
  CudaKernel kernel(op);
  const Arrays arrays;
  for (auto _ : state) {
    kernel.forward({arrays.left.data(), arrays.right.data()}, arrays.out.data(), arrays.n,
                   arrays.stream.handle());
    arrays.stream.synchronize();
  }
  count_bytes(state, arrays, 3);
}

// With one broadcast row, which is hardly read from memory.
void with_row(benchmark::State& state, const char* op) {
  constexpr std::int64_t columns = 1024;
  CudaKernel kernel(op);
  const Arrays arrays;
  const CudaKernel::Floats left{arrays.left.data(), {arrays.n / columns, columns}},
      row{arrays.right.data(), {columns}};
  for (auto _ : state) {
    kernel.forward({left, row}, {arrays.out.data(), left.shape}, arrays.stream.handle());
    arrays.stream.synchronize();
  }
  count_bytes(state, arrays, 2);
}

}  // namespace

BENCHMARK(device_copy)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(one_input, quadratic, "quadratic")->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(one_input, gelu, "gelu")->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(two_inputs, add, "add")->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(with_row, add, "add")->UseRealTime()->Unit(benchmark::kMicrosecond);

int main(int count, char** words) {
  return run_cuda_benchmarks(count, words);
}
