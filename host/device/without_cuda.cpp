// Replaces cuda/ in builds without the CUDA toolkit.
#include "device/cuda_state.hpp"
#include "device/mark_non_finite.hpp"

namespace tenon {

CudaState detect_cuda() {
  return classify({});
}

bool has_cuda_driver() {
  return false;
}

void mark_non_finite(DType, const void*, std::int64_t, std::int64_t*, const Stream&) {
}  // no tensor is on a GPU

}  // namespace tenon
