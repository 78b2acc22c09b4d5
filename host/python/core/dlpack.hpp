// DLPack in Python: the capsule protocol of 0.x and 1.x, and the C function table of types since
// 1.3.
#pragma once
#include <dlpack/dlpack.h>

#include <cstdint>
#include <tenon/host/tensor.hpp>

#include "python/core/interpreter.hpp"

#ifndef DLPACK_MAJOR_VERSION  // declared by 1.0 and later
struct DLPackVersion {
  std::uint32_t major, minor;
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};
#endif

namespace tenon::python {

/// The target of a type's `__dlpack_c_exchange_api__`: DLPackExchangeAPI of DLPack 1.3. Functions
/// return 0, or -1 with a Python error set. They do not wait for streams. They need the GIL.
struct ExchangeTable {
  DLPackVersion version;
  ExchangeTable* of_older_version;
  int (*allocate)(DLTensor* like, DLManagedTensorVersioned** made, void* context,
                  void (*set_error)(void*, const char*, const char*));
  int (*managed_of)(void* object, DLManagedTensorVersioned** made);
  int (*object_of)(DLManagedTensorVersioned* taken, void** object);
  /// its pointers live as long as the object; null if the library does not support it
  int (*view_of)(void* object, DLTensor* view);
  int (*current_stream)(DLDeviceType type, std::int32_t number, void** stream);
};

/// The table of exactly this type, or of Tensor for torch's Parameter; null if it has none. Other
/// subclasses may use any kind of memory and must use __dlpack__. Needs the GIL.
const ExchangeTable* exchange_of(PyTypeObject* type);
const ExchangeTable* tenon_exchange();  ///< of tenon.Tensor

/// A new object of the table's library that shares the tensor's memory. Throws nb::python_error.
nb::object object_from(const Tensor& tensor, const ExchangeTable& table);
/// The object's own memory if it is on the CPU; otherwise empty, since __dlpack__ synchronizes with
/// a GPU. Throws nb::python_error, or Failure (usage).
Tensor tensor_through(const ExchangeTable& table, nb::handle object);
/// Returns unknown_dtype if Tenon lacks it.
DType dtype_of(const DLDataType& type);

/// Whether the object can share its memory by DLPack.
bool has_dlpack(nb::handle object);
/// The object's own memory. Waits for pending work on a GPU. Throws nb::python_error, or Failure
/// (usage).
Tensor tensor_from_dlpack(nb::handle object);

void bind_dlpack(nb::module_& module, nb::class_<Tensor>& tensor);
/// An operator on arrays of a type that has a table, as torch calls a registered operator.
void bind_exchange_calls(nb::module_& module);

}  // namespace tenon::python
