#include <dlpack/dlpack.h>

#include <memory>
#include <optional>
#include <tenon/host/failure.hpp>

#include "device/devices.hpp"
#include "tensor/tensor_device.hpp"
#include "tensor/tensor_impl.hpp"

namespace tenon {
namespace {

struct Given {
  DLManagedTensor managed{};
  Tensor tensor;
};

// The receiver may have put work on a stream that still reads the memory, which must not go to another tensor before.
void take_back(DLManagedTensor* managed) noexcept {
  const std::unique_ptr<Given> given(static_cast<Given*>(managed->manager_ctx));
  try {
    Device& device = device_of(given->tensor);
    if (!device.is_cpu()) device.wait_for_application(tensor_stream(device).handle());
  } catch (const std::exception&) {  // no stream can be made: the device is lost, and so is the memory
  }
}

// Calls the giver's deleter when the last tensor over its memory is gone.
struct Taken {
  DLManagedTensor* managed = nullptr;
  ~Taken() {
    if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
  }
};

std::optional<DType> dtype_from(DLDataType type) {
  for (int i = 0; i < dtype_count; ++i)
    if (const auto dtype = static_cast<DType>(i); type.lanes == 1 && dlpack_type(dtype) == DlpackType{type.code, type.bits}) return dtype;
  return std::nullopt;
}

Failure import_failure(const std::string& reason, const std::string& hint = {}) {
  return {FailureKind::usage, "cannot take this DLPack tensor: " + reason, hint};
}

Device& device_from(DLDevice device) {
  // Memory that CUDA pinned can be read by the CPU like any other.
  if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost) return cpu_device();
  if (device.device_type != kDLCUDA)
    throw import_failure(
        join("it is on a device of DLPack type ", static_cast<int>(device.device_type), ", but only the CPU and CUDA are supported"));
  try {
    return find_device(join("cuda:", device.device_id));
  } catch (const Failure& failure) {
    throw import_failure(failure.what(), failure.hint());
  }
}

}  // namespace

DLManagedTensor* Tensor::to_dlpack() const {
  require_dense();
  const Impl& tensor = *impl_;
  auto given = std::make_unique<Given>();
  given->tensor = *this;
  DLTensor& dense = given->managed.dl_tensor;
  dense.data = tensor.abi.dense.data;
  dense.device = {static_cast<DLDeviceType>(tensor.abi.dense.device_type), tensor.abi.dense.device_id};
  dense.ndim = tensor.abi.dense.ndim;
  dense.dtype = {tensor.abi.dense.type_code, tensor.abi.dense.type_bits, tensor.abi.dense.type_lanes};
  dense.shape = const_cast<std::int64_t*>(tensor.dims);
  dense.strides = const_cast<std::int64_t*>(tensor.strides);  // always: some receivers cannot read null
  given->managed.manager_ctx = given.get();
  given->managed.deleter = take_back;
  return &given.release()->managed;
}

Tensor Tensor::from_dlpack(DLManagedTensor* managed) {
  if (managed == nullptr) throw import_failure("it is a null pointer");
  const DLTensor& dense = managed->dl_tensor;
  Device& device = device_from(dense.device);
  const std::optional<DType> dtype = dtype_from(dense.dtype);
  if (!dtype) {
    throw import_failure(join("Tenon has no dtype with type code ", static_cast<int>(dense.dtype.code), ", ",
                              static_cast<int>(dense.dtype.bits), " bits and ", static_cast<int>(dense.dtype.lanes), " lanes"));
  }
  if (dense.ndim < 0 || dense.ndim > max_rank)
    throw import_failure(join("it has ", dense.ndim, " dimensions, but at most 8 are supported"));
  if (dense.shape == nullptr && dense.ndim != 0) throw import_failure("it has no shape");
  for (int axis = 0; axis < dense.ndim; ++axis) {
    if (dense.shape[axis] < 0) throw import_failure(join("dimension ", axis, " is ", dense.shape[axis]));
  }
  // Filled in last, so that after any failure the tensor is still the caller's.
  auto taken = std::make_shared<Taken>();
  const auto rank = dense.strides != nullptr ? static_cast<std::size_t>(dense.ndim) : 0;
  std::byte* const data = dense.data == nullptr ? nullptr : static_cast<std::byte*>(dense.data) + dense.byte_offset;
  Tensor result = borrow_on(device, data, *dtype, Shape(dense.shape, dense.ndim), {dense.strides, rank}, taken);
  taken->managed = managed;
  return result;
}

}  // namespace tenon
