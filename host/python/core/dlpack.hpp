// DLPack in Python: the protocol with capsules, of 0.x and 1.x, and the table of C functions that a type may have since 1.3.
#pragma once
#include <dlpack/dlpack.h>

#include <cstdint>
#include <tenon/host/tensor.hpp>

#include "python/core/interpreter.hpp"

#ifndef DLPACK_MAJOR_VERSION  // of 1.0 and later, which declare the same
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

/// What `__dlpack_c_exchange_api__` of a type points to: DLPackExchangeAPI of DLPack 1.3. Functions return 0, or -1 with a Python error
/// set. None of them waits for a stream. They need the GIL.
struct ExchangeTable {
  DLPackVersion version;
  ExchangeTable* of_older_version;
  int (*allocate)(DLTensor* like, DLManagedTensorVersioned** made, void* context, void (*set_error)(void*, const char*, const char*));
  int (*managed_of)(void* object, DLManagedTensorVersioned** made);
  int (*object_of)(DLManagedTensorVersioned* taken, void** object);
  int (*view_of)(void* object, DLTensor* view);  ///< its pointers live as long as the object; null where the library cannot
  int (*current_stream)(DLDeviceType type, std::int32_t number, void** stream);
};

/// The table of exactly this type, and of torch's Parameter that of Tensor; null where it has none. Other subclasses may be of any kind of
/// memory, and have to say so in __dlpack__. With the GIL.
const ExchangeTable* exchange_of(PyTypeObject* type);
const ExchangeTable* tenon_exchange();  ///< of tenon.Tensor

/// The tensor's memory in a new object of the table's library. Throws nb::python_error.
nb::object object_from(const Tensor& tensor, const ExchangeTable& table);
/// The object's own memory where it lies on the CPU, as it is there; else empty: __dlpack__ waits for a GPU. Throws nb::python_error, or
/// Failure (usage).
Tensor tensor_through(const ExchangeTable& table, nb::handle object);
/// unknown_dtype where Tenon lacks it.
DType dtype_of(const DLDataType& type);

/// Whether an object has memory to be shared by DLPack.
bool has_dlpack(nb::handle object);
/// The object's own memory; waits for work on a GPU that is still on its way. Throws nb::python_error, or Failure (usage).
Tensor tensor_from_dlpack(nb::handle object);

void bind_dlpack(nb::module_& module, nb::class_<Tensor>& tensor);
/// An operator on arrays of a type that has a table: what a registered operator of torch's calls.
void bind_exchange_calls(nb::module_& module);

}  // namespace tenon::python
