#include <tenon/gpu/launch.hpp>
#include <tenon/gpu/row_major.hpp>

#include "kernels.hpp"
#if !defined(__CUDACC__)
#include <cuda_simulated.h>
#endif

namespace {

struct AddOne {
  std::uint32_t* data;
  TENON_FN void operator()(std::int64_t i) const { data[i] += 1; }
};

struct SumOffsets {
  tenon::gpu::RowMajor points;
  std::uint32_t* to;
  TENON_FN void operator()(std::int64_t i) const {
    std::int64_t sum[1] = {};
    points.add_offsets(sum, i, [](int, int axis) { return axis == 0 ? 1000 : 1; });
    to[i] = static_cast<std::uint32_t>(sum[0]);
  }
};

template <int bytes>
struct MixBlock {
  Mixed<bytes>* results;
  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t) const {
    const auto first = block.reduce(Mixed<bytes>(static_cast<unsigned>(block.thread()) + 7),
                                    Mix());  // reuses the block's slots
    const auto result = block.reduce(Mixed<bytes>(static_cast<unsigned>(block.thread())), Mix());
    results[block.thread()] = Mix()(first, result);
  }
};

#if defined(__CUDACC__)
__global__ void wild_write() {
  *reinterpret_cast<volatile int*>(std::uintptr_t{64}) = 1;
}
#endif

}  // namespace

void launch_add_one(std::uint32_t* data, std::int64_t n, void* stream) {
  tenon_call raw{};
  raw.stream = stream;
  tenon::gpu::for_each(tenon::Call(raw, {}), n, AddOne{data});
}

void launch_offsets(std::uint32_t* to, std::int64_t outer, std::int64_t inner, bool wide,
                    void* stream) {
  tenon_call raw{};
  raw.stream = stream;
  SumOffsets body{{}, to};
  body.points.push(outer);
  body.points.push(inner);
  if (wide) body.points.count_in_int64();
  tenon::gpu::for_each(tenon::Call(raw, {}), body.points.count(), body);
}

template <int bytes>
void launch_mix(Mixed<bytes>* results, void* stream) {
  tenon_call raw{};
  raw.stream = stream;
  tenon::gpu::for_each_block(tenon::Call(raw, {}), 1, MixBlock<bytes>{results});
}
template void launch_mix(Mixed<1>*, void*);
template void launch_mix(Mixed<2>*, void*);
template void launch_mix(Mixed<4>*, void*);
template void launch_mix(Mixed<7>*, void*);
template void launch_mix(Mixed<8>*, void*);
template void launch_mix(Mixed<16>*, void*);

void launch_wild_write(void* stream) {
#if defined(__CUDACC__)
  wild_write<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>();
#else
  const auto lose = [](void*) {
    simulated_lose_device(cudaErrorIllegalAddress, "an illegal memory access was encountered");
  };
  cudaLaunchHostFunc(static_cast<cudaStream_t>(stream), lose, nullptr);
#endif
}
