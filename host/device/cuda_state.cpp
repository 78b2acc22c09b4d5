#include "device/cuda_state.hpp"

namespace tenon {
namespace {

CudaState unusable(const CudaQueryResult& answer, CudaStatus status, std::string reason,
                   std::string hint = {}) {
  return {{status, answer.runtime, answer.driver, std::move(reason), std::move(hint)}, {}};
}

CudaState no_device(const CudaQueryResult& answer) {
  std::string reason = "the CUDA driver (" + cuda_version_text(answer.driver) + ") finds no device";
  if (answer.visible == nullptr) return unusable(answer, CudaStatus::no_device, std::move(reason));
  reason += ", and CUDA_VISIBLE_DEVICES is '" + std::string(answer.visible) + "'";
  return unusable(answer, CudaStatus::no_device, std::move(reason),
                  "unset CUDA_VISIBLE_DEVICES to see all devices");
}

CudaState old_driver(const CudaQueryResult& answer) {
  const auto runtime = cuda_version_text(answer.runtime), driver = cuda_version_text(answer.driver);
  return unusable(
      answer, CudaStatus::old_driver,
      "the driver supports CUDA up to " + driver + ", but Tenon was built with CUDA " + runtime,
      "install a newer driver, or build Tenon with the CUDA toolkit " + driver);
}

}  // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

CudaState classify(const CudaQueryResult& answer) {
  if (answer.runtime == 0) {
    return unusable(answer, CudaStatus::not_built, "Tenon was built without the CUDA toolkit",
                    "install the toolkit and rebuild Tenon with -DTENON_CUDA=ON");
  }
  if (answer.driver == 0)
    return unusable(answer, CudaStatus::no_driver, "this machine has no CUDA driver (libcuda.so.1)",
                    "install the GPU's driver");
  if (answer.error.starts_with("cudaErrorInsufficientDriver")) return old_driver(answer);
  if (answer.error.starts_with("cudaErrorNoDevice") ||
      (answer.error.empty() && answer.devices == 0))
    return no_device(answer);
  if (!answer.error.empty())
    return unusable(answer, CudaStatus::broken, "CUDA cannot be initialized: " + answer.error);
  return {{CudaStatus::usable, answer.runtime, answer.driver, {}, {}}, {}};
}

const CudaState& cuda_state() {
  static const auto& state =
      *new CudaState(detect_cuda());  // never destroyed: memory may still be freed at exit
  return state;
}

}  // namespace tenon
