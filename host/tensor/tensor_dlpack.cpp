#include <memory>
#include <optional>
#include <span>
#include <tenon/host/failure.hpp>

#include "device/devices.hpp"
#include "tensor/dlpack_versioned.hpp"
#include "tensor/dtype_traits.hpp"
#include "tensor/tensor_device.hpp"
#include "tensor/tensor_impl.hpp"

namespace tenon {
namespace {

// The exported tensor, for DLManagedTensor and DLManagedTensorVersioned.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
};

// The consumer may have enqueued work that still reads the memory, so wait for it before the memory
// is reused.
template <class Managed>
void delete_exported(Managed* managed) noexcept {
  const std::unique_ptr<Exported<Managed>> exported(
      static_cast<Exported<Managed>*>(managed->manager_ctx));
  try {
    Device& device = device_of(exported->tensor);
    if (!device.is_cpu()) device.wait_for_application(tensor_stream(device).handle());
    // no stream can be created: the device is lost, and so is the memory
  } catch (const std::exception&) {
  }
}

// Strides are always set: some consumers cannot handle null.
template <class Managed>
Managed* export_managed(const Tensor& tensor, const std::int64_t* strides) {
  auto exported = std::make_unique<Exported<Managed>>();
  exported->tensor = tensor;
  const tenon_dense& from = tensor.abi().dense;
  DLTensor& dense = exported->managed.dl_tensor;
  dense.data = from.data;
  dense.device = {static_cast<DLDeviceType>(from.device_type), from.device_id};
  dense.ndim = from.ndim;
  dense.dtype = {from.type_code, from.type_bits, from.type_lanes};
  dense.shape = const_cast<std::int64_t*>(from.shape);
  dense.strides = const_cast<std::int64_t*>(strides);
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = delete_exported<Managed>;
  return &exported.release()->managed;
}

// Calls the producer's deleter when the last tensor over its memory is gone.
template <class Managed>
struct Imported {
  Managed* managed = nullptr;
  ~Imported() {
    if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
  }
};

std::optional<DType> dtype_from(DLDataType type) {
  for (int i = 0; i < dtype_count; ++i)
    if (const auto dtype = static_cast<DType>(i);
        type.lanes == 1 && dlpack_type(dtype) == DlpackType{type.code, type.bits})
      return dtype;
  return std::nullopt;
}

Failure import_failure(const std::string& reason, const std::string& hint = {}) {
  return {FailureKind::usage, "cannot take this DLPack tensor: " + reason, hint};
}

Device& device_from(DLDevice device) {
  // The CPU can read memory pinned by CUDA like any other.
  if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost) return cpu_device();
  if (device.device_type != kDLCUDA)
    throw import_failure(join("it is on a device of DLPack type ",
                              static_cast<int>(device.device_type),
                              ", but only the CPU and CUDA are supported"));
  try {
    return find_device(join("cuda:", device.device_id));
  } catch (const Failure& failure) {
    throw import_failure(failure.what(), failure.hint());
  }
}

struct Elements {
  Device& device;
  DType dtype;
  Shape shape;
  std::span<const std::int64_t> strides;  // empty: contiguous
  void* data;
};

Elements elements_of(const DLTensor& dense, std::uint64_t flags) {
  Device& device = device_from(dense.device);
  const std::optional<DType> dtype = dtype_from(dense.dtype);
  if (!dtype) {
    throw import_failure(join("Tenon has no dtype with type code ",
                              static_cast<int>(dense.dtype.code), ", ",
                              static_cast<int>(dense.dtype.bits), " bits and ",
                              static_cast<int>(dense.dtype.lanes), " lanes"));
  }
  if (bits_of(*dtype) < 8 && (flags & dlpack_padded) == 0)
    throw import_failure(
        join("its elements, ", *dtype, ", are packed into bytes, but Tenon's take a byte each"),
        "pass an array of ml_dtypes, or one that sets DLPack 1.1's flag for padded "
        "elements");
  if (dense.ndim < 0 || dense.ndim > max_rank)
    throw import_failure(join("it has ", dense.ndim, " dimensions, but at most 8 are supported"));
  if (dense.shape == nullptr && dense.ndim != 0) throw import_failure("it has no shape");
  for (int axis = 0; axis < dense.ndim; ++axis) {
    if (dense.shape[axis] < 0)
      throw import_failure(join("dimension ", axis, " is ", dense.shape[axis]));
  }
  const auto rank = dense.strides != nullptr ? static_cast<std::size_t>(dense.ndim) : 0;
  std::byte* const data =
      dense.data == nullptr ? nullptr : static_cast<std::byte*>(dense.data) + dense.byte_offset;
  return {device, *dtype, Shape(dense.shape, dense.ndim), {dense.strides, rank}, data};
}

}  // namespace

DLManagedTensor* Tensor::to_dlpack() const {
  require_dense();
  if (read_only())
    throw Failure(FailureKind::usage, "this tensor is read-only, which DLPack 0.x cannot express",
                  "use to_dlpack_versioned(), or clone() for a writable copy");
  if (bits_of(dtype()) < 8)
    throw Failure(FailureKind::usage,
                  join("this tensor is ", dtype(),
                       ", one element per byte, which DLPack before 1.1 cannot express"),
                  "use to_dlpack_versioned()");
  return export_managed<DLManagedTensor>(*this, impl_->strides);
}

DLManagedTensorVersioned* Tensor::to_dlpack_versioned() const {
  require_dense();
  auto* const managed = export_managed<DLManagedTensorVersioned>(*this, impl_->strides);
  const bool padded = bits_of(dtype()) < 8;
  managed->version = {dlpack_major, padded ? 1U : 0U};
  managed->flags = (read_only() ? dlpack_read_only : 0) | (padded ? dlpack_padded : 0);
  return managed;
}

// Both set `managed` last, so after a failure the tensor still belongs to the caller.
Tensor Tensor::from_dlpack(DLManagedTensor* managed) {
  if (managed == nullptr) throw import_failure("it is a null pointer");
  const Elements elements = elements_of(managed->dl_tensor, 0);
  const auto imported = std::make_shared<Imported<DLManagedTensor>>();
  Tensor result = borrow_on(elements.device, elements.data, elements.dtype, elements.shape,
                            elements.strides, imported);
  imported->managed = managed;
  return result;
}

Tensor Tensor::from_dlpack(DLManagedTensorVersioned* managed) {
  if (managed == nullptr) throw import_failure("it is a null pointer");
  if (managed->version.major != dlpack_major)
    throw import_failure(join("it is of DLPack ", managed->version.major, ".",
                              managed->version.minor, ", but only 1.x is supported"));
  const Elements elements = elements_of(managed->dl_tensor, managed->flags);
  const auto imported = std::make_shared<Imported<DLManagedTensorVersioned>>();
  Tensor result = borrow_on(elements.device, elements.data, elements.dtype, elements.shape,
                            elements.strides, imported);
  result.impl_->read_only = (managed->flags & dlpack_read_only) != 0;
  imported->managed = managed;
  return result;
}

}  // namespace tenon
