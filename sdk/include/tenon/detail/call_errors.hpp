// The errors of Call: what an author sees if a kernel requests a tensor that the call does not
// have. Part of call.hpp, which includes it at its end; a separate file so that the accessors stay
// short and inline. The functions are cold: they cost a kernel nothing until they are called.
//
//     the kernel requests input 'wieght', but describe() names data, weight
//     the kernel requests output 2, but there are 2 (values, indices)
//     input 'data' holds float16, but the kernel requests float32
//     input 'data' is csr: read it by csr<T>(0)
//     input 'bias' is not connected: check has_input first
//     the gradient of input 'data' is not requested: check write(0) first
//     the gradient of output 'y' is zero and not stored: check has_output_grad(0) first
//     input 'data' is not saved for backward: name it in op.backward_reads
//     output 'y' is dense, not csr: set it in infer_storage
//     output 'y' has no memory yet: call.allocate gives it its shape and memory
//
// The host prefixes the sentence with operator and node, and appends the types of all inputs:
//
//     error: [scale] node 's': input 'data' holds float16, but the kernel requests float32
//       (data float16 [2, 3])
#pragma once
#include "../call.hpp"
#include "../version.hpp"
#include "host_error.hpp"

// All of them throw Error: kind `failed` for a tensor that the call does not have, `type` for
// storages and dtypes, `memory` for more scratch memory than workspace() requested.
#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

// Returns the index of a name; for an output gradient, that of the output.
inline int Call::find(Slot slot, std::string_view name) const {
  const int i = names(slot).find(name, count(slot));
  if (i >= 0) return i;
  const char* kind = slot == Slot::state                                 ? "state"
                     : slot == Slot::output || slot == Slot::output_grad ? "output"
                                                                         : "input";
  fail(ErrorKind::failed,
       {"the kernel requests ", kind, " '", name, "', but describe() names ", names(slot).list()});
}

// output<T>() would let backward overwrite what forward has written and other nodes read.
inline int Call::forward_only(int i) const {
  if (backward())
    fail(ErrorKind::failed,
         {"backward reads ", slot_name(Slot::output, i), " by output_value, not by output"});
  return i;
}

/// Returns how errors name a tensor: "input 'weight'", "input 'data2'" of a variadic input, "the
/// gradient of output 'y'". An index past the end stands for the name.
[[gnu::cold]] inline std::string Call::slot_name(Slot slot, int i) const {
  const bool gradient = slot == Slot::output_grad || slot == Slot::input_grad;
  const char* kind = slot == Slot::state                                 ? "state"
                     : slot == Slot::output || slot == Slot::output_grad ? "output"
                                                                         : "input";
  return join(gradient ? "the gradient of " : "", kind, " '", names(slot).at(i, count(slot)), "'");
}

/// For a negative index, or one past the end.
[[gnu::cold]] inline void Call::refuse_position(Slot slot, int i) const {
  const char* kind = slot == Slot::state                                 ? "state"
                     : slot == Slot::output || slot == Slot::output_grad ? "output"
                                                                         : "input";
  fail(ErrorKind::failed, {"the kernel requests ", kind, " ", i, ", but there are ", count(slot),
                           " (", names(slot).list(), ")"});
}

/// For a tensor that the call does not have: says why, and what to check first.
[[gnu::cold]] inline void Call::refuse_missing(Slot slot, int i) const {
  const auto name = slot_name(slot, i);
  if (slot == Slot::input_grad || slot == Slot::output_grad) {
    if (!backward()) fail(ErrorKind::failed, {name, " exists only in backward"});
    if (slot == Slot::input_grad)
      fail(ErrorKind::failed, {name, " is not requested: check write(", i, ") first"});
    fail(ErrorKind::failed,
         {name, " is zero and not stored: check has_output_grad(", i, ") first"});
  }
  if (slot == Slot::input && !backward())
    fail(ErrorKind::failed, {name, " is not connected: check has_input first"});
  if (slot == Slot::output && !backward() && raw_->outputs[i])
    fail(ErrorKind::failed,
         {name, " has no memory yet: call.allocate gives it its shape and memory"});
  if (slot == Slot::output && !backward())
    fail(ErrorKind::failed, {name, " is not requested: check write(", i, ") first"});
  fail(ErrorKind::failed, {name, " is not saved for backward: name it in op.backward_reads"});
}

/// For a dense accessor whose tensor is missing, sparse, or of another dtype.
[[gnu::cold]] inline void Call::refuse(Slot slot, int i, DType requested) const {
  const tenon_tensor* tensor = this->slot(slot, i);
  if (!tensor || tensor->storage == TENON_STORAGE_UNKNOWN) refuse_missing(slot, i);
  const auto dtype = static_cast<DType>(tensor->dtype);
  const auto storage = static_cast<Storage>(tensor->storage);
  if (storage != Storage::dense)
    fail(ErrorKind::type,
         {slot_name(slot, i), " is ", storage, ": read it by ", storage, "<T>(", i, ")"});
  fail(ErrorKind::type,
       {slot_name(slot, i), " holds ", dtype, ", but the kernel requests ", requested});
}

// Returns a sparse tensor that csr() or row_sparse() may read. Errors (type): another storage,
// another dtype, indices that are not int64, a csr tensor that is not a matrix.
inline const tenon_tensor& Call::sparse(Slot where, int i, Storage storage, DType requested) const {
  const tenon_tensor* tensor = slot(where, i);
  if (!tensor || tensor->storage == TENON_STORAGE_UNKNOWN) refuse_missing(where, i);
  const auto name = [&] { return slot_name(where, i); };  // evaluated only on failure
  const auto found = static_cast<Storage>(tensor->storage);
  const auto dtype = static_cast<DType>(tensor->dtype);
  if (found != storage)
    fail(ErrorKind::type, {name(), " is ", found, ", but the kernel requests ", storage});
  if (dtype != requested)
    fail(ErrorKind::type, {name(), " holds ", dtype, ", but the kernel requests ", requested});
  if (tensor->index_dtype != TENON_I64)
    fail(ErrorKind::type, {name(), " has int32 indices, but kernels of this SDK read int64"});
  if (storage == Storage::csr && tensor->dense.ndim != 2)
    fail(ErrorKind::type, {name(), " is csr but not a matrix"});
  return *tensor;
}

/// The host knows the output's shape, storage and dtype from the plan; the kernel adds the number
/// of stored values. Errors (type): another storage or dtype than planned; (failed): a negative
/// number; and the host's own errors if the shape cannot hold this number or memory is short.
inline const tenon_tensor& Call::allocate(int output, Storage storage, DType requested,
                                          std::int64_t stored) const {
  const Slot where = written();
  const tenon_tensor* planned = slot(where, output);
  if (!planned) refuse_missing(where, output);
  const auto found = static_cast<Storage>(planned->storage);
  const auto dtype = static_cast<DType>(planned->dtype);
  if (found != storage)
    fail(ErrorKind::type,
         {slot_name(where, output), " is ", found, ", not ", storage, ": set it in infer_storage"});
  if (dtype != requested)
    fail(ErrorKind::type,
         {slot_name(where, output), " holds ", dtype, ", but the kernel writes ", requested});
  if (stored < 0)
    fail(ErrorKind::failed, {slot_name(where, output), " cannot store ", stored, " values"});
  tenon_tensor* memory = nullptr;  // owned by the host, which sets values, indices and row starts
                                   // in the call's own tensor
  HostError error;
  if (!raw_->host || raw_->host->allocate_sparse(raw_, static_cast<std::uint32_t>(output), stored,
                                                 &memory, error.raw()))
    error.raise();
  return *memory;
}

/// For an output that describe() declares allocated(). The host checks that the shape is compatible
/// with the result of infer() and that the memory is requested once; its errors are thrown as Error
/// (memory, failed). Errors here (type): the dtype differs from that of infer(); (failed): an
/// output that is not requested, a host that lacks the function.
inline const tenon_tensor& Call::allocate_dense(int output, DType requested,
                                                const Shape& shape) const {
  const tenon_tensor* planned = slot(Slot::output, output);
  if (!planned) refuse_missing(Slot::output, output);
  const auto dtype = static_cast<DType>(planned->dtype);
  if (dtype != requested)
    fail(ErrorKind::type, {slot_name(Slot::output, output), " holds ", dtype,
                           ", but the kernel writes ", requested});
  const auto allocate = detail::host_function<tenon_allocate>(*raw_, "allocate/1");
  if (!allocate)
    fail(ErrorKind::failed,
         {"this host does not support kernels that allocate: ", slot_name(Slot::output, output)});
  tenon_tensor* memory = nullptr;
  HostError error;
  if (allocate(raw_, static_cast<std::uint32_t>(output), shape.begin(), shape.rank(), &memory,
               error.raw()))
    error.raise();
  return *memory;
}

/// Memory beyond the requested size could belong to anything.
[[gnu::cold]] inline void Call::refuse_workspace(std::size_t count, std::size_t size) const {
  fail(ErrorKind::memory,
       {backward() ? "backward" : "the kernel", " requests a workspace of ", count, " times ", size,
        " bytes, but ", backward() ? "backward_workspace()" : "workspace()", " requested ",
        raw_->workspace_size});
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
