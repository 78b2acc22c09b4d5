// In place of cuda/, where there was no toolkit.
#include "device/cuda_state.hpp"

namespace tenon {

CudaState look_for_cuda() {
  return judge({});
}

}  // namespace tenon
