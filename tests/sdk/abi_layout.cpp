// The C boundary of version 0.1.0, kept in tests/data, is a prefix of today's: no field has moved
// or changed its size, no number has changed its meaning, and structs that are array elements have
// not grown. The compiler checks this; if libabigail is installed, house/abi.sh also compares
// types.
#include <stdint.h>
#include <tenon/abi.h>

#include <cstddef>

#undef TENON_ABI_H
#pragma push_macro("TENON_ABI_MINOR")
#undef TENON_ABI_MINOR
namespace version_0_1 {
struct tenon_call;  // otherwise the header would refer to the one above
struct tenon_gradient;
#include "../data/v0.1.0/sources/abi.h"
static_assert(TENON_ABI_MINOR == 0);
}  // namespace version_0_1
#pragma pop_macro("TENON_ABI_MINOR")

#define SAME_PLACE(type, field)                                                  \
  static_assert(offsetof(version_0_1::type, field) == offsetof(::type, field) && \
                sizeof(version_0_1::type::field) == sizeof(::type::field));
// clang-format off
#define FIELDS(X) \
  X(tenon_error, size) X(tenon_error, kind) X(tenon_error, reserved) X(tenon_error, text) \
  X(tenon_error, capacity) X(tenon_dense, data) X(tenon_dense, device_type) \
  X(tenon_dense, device_id) X(tenon_dense, ndim) X(tenon_dense, type_code) \
  X(tenon_dense, type_bits) X(tenon_dense, type_lanes) X(tenon_dense, shape) \
  X(tenon_dense, strides) X(tenon_dense, byte_offset) X(tenon_tensor, size) \
  X(tenon_tensor, dense) X(tenon_tensor, storage) X(tenon_tensor, dtype) \
  X(tenon_tensor, index_dtype) X(tenon_tensor, reserved) X(tenon_tensor, stored) \
  X(tenon_tensor, indices) X(tenon_tensor, row_starts) X(tenon_type, dims) X(tenon_type, rank) \
  X(tenon_type, dtype) X(tenon_type, storage) X(tenon_type, present) X(tenon_attribute, name) \
  X(tenon_attribute, kind) X(tenon_attribute, reserved) X(tenon_attribute, count) \
  X(tenon_attribute, i) X(tenon_attribute, f) X(tenon_attribute, text) X(tenon_attribute, ints) \
  X(tenon_attribute, floats) X(tenon_attribute, reserved2) X(tenon_host, size) \
  X(tenon_host, abi_major) X(tenon_host, abi_minor) X(tenon_host, parallel_for) \
  X(tenon_host, allocate_sparse) X(tenon_fault, kind) X(tenon_fault, value) \
  X(tenon_fault, limit) X(tenon_call, size) X(tenon_call, host) X(tenon_call, context) \
  X(tenon_call, error) X(tenon_call, input_count) X(tenon_call, output_count) \
  X(tenon_call, state_count) X(tenon_call, flags) X(tenon_call, inputs) X(tenon_call, outputs) \
  X(tenon_call, states) X(tenon_call, output_grads) X(tenon_call, input_grads) \
  X(tenon_call, writes) X(tenon_call, workspace) X(tenon_call, workspace_size) \
  X(tenon_call, seed) X(tenon_call, step) X(tenon_call, node) X(tenon_call, stream) \
  X(tenon_call, threads) X(tenon_call, dispatch) X(tenon_call, fault) X(tenon_infer, size) \
  X(tenon_infer, error) X(tenon_infer, input_count) X(tenon_infer, output_count) \
  X(tenon_infer, state_count) X(tenon_infer, inputs) X(tenon_infer, outputs) \
  X(tenon_infer, states) X(tenon_infer_storage, size) X(tenon_infer_storage, error) \
  X(tenon_infer_storage, input_count) X(tenon_infer_storage, output_count) \
  X(tenon_infer_storage, inputs) X(tenon_infer_storage, outputs) \
  X(tenon_infer_storage, device_type) X(tenon_infer_storage, dispatch) \
  X(tenon_infer_storage, sparse_kernel) X(tenon_infer_storage, reserved) \
  X(tenon_infer_storage, input_types) X(tenon_gradient, size) X(tenon_gradient, error) \
  X(tenon_gradient, context) X(tenon_gradient, input_count) X(tenon_gradient, output_count) \
  X(tenon_gradient, value) X(tenon_gradient, add) X(tenon_gradient, set_input_grad) \
  X(tenon_operator, size) X(tenon_operator, abi_major) X(tenon_operator, abi_minor) \
  X(tenon_operator, traits) X(tenon_operator, create) X(tenon_operator, destroy) \
  X(tenon_operator, infer) X(tenon_operator, infer_storage) X(tenon_operator, workspace) \
  X(tenon_operator, gradient) X(tenon_operator, forward) X(tenon_operator, forward_sparse) \
  X(tenon_operator, backward) X(tenon_operator, backward_sparse) X(tenon_plugin, size) \
  X(tenon_plugin, abi_major) X(tenon_plugin, abi_minor) X(tenon_plugin, sdk_version) \
  X(tenon_plugin, cuda_version) X(tenon_plugin, name) X(tenon_plugin, version) \
  X(tenon_plugin, compiler)
// clang-format on
FIELDS(SAME_PLACE)
// Padding in 0.1, now a layout: zero is plain.
static_assert(offsetof(version_0_1::tenon_type, reserved) == offsetof(::tenon_type, layout) &&
              sizeof(::tenon_type::layout) == 1);
// Padding in 0.1, now a precision: zero is that of the types.
static_assert(offsetof(version_0_1::tenon_infer, reserved) == offsetof(::tenon_infer, precision) &&
              sizeof(::tenon_infer::precision) == 4);

// These have no size field for their readers.
#define SAME_SIZE(type)                                        \
  static_assert(sizeof(version_0_1::type) == sizeof(::type) && \
                alignof(version_0_1::type) == alignof(::type))
SAME_SIZE(tenon_dense);
SAME_SIZE(tenon_type);
SAME_SIZE(tenon_attribute);
SAME_SIZE(tenon_fault);

#define SAME_NUMBER(name) \
  static_assert(static_cast<int>(version_0_1::name) == static_cast<int>(::name));
// clang-format off
#define NUMBERS(X) \
  X(TENON_BOOLEAN) X(TENON_U8) X(TENON_I8) X(TENON_I32) X(TENON_I64) X(TENON_F16) X(TENON_BF16) \
  X(TENON_F32) X(TENON_F64) X(TENON_DTYPE_UNKNOWN) X(TENON_DENSE) X(TENON_ROW_SPARSE) \
  X(TENON_CSR) X(TENON_STORAGE_UNKNOWN) X(TENON_WRITE_NONE) X(TENON_WRITE_TO) \
  X(TENON_WRITE_IN_PLACE) X(TENON_WRITE_ADD) X(TENON_CPU) X(TENON_CUDA) X(TENON_FORWARD) \
  X(TENON_FORWARD_SPARSE) X(TENON_BACKWARD) X(TENON_BACKWARD_SPARSE) X(TENON_ATTR_BOOL) \
  X(TENON_ATTR_INT) X(TENON_ATTR_FLOAT) X(TENON_ATTR_TEXT) X(TENON_ATTR_INTS) \
  X(TENON_ATTR_FLOATS) X(TENON_ERROR_FAILED) X(TENON_ERROR_PARAMETER) X(TENON_ERROR_TYPE) \
  X(TENON_ERROR_MEMORY) X(TENON_ERROR_UNKNOWN) X(TENON_CALL_TRAINING) X(TENON_FAULT_NONE) \
  X(TENON_FAULT_INDEX) X(TENON_GRADIENT_INPUT) X(TENON_GRADIENT_OUTPUT) \
  X(TENON_GRADIENT_OUTPUT_GRAD) X(TENON_TRAIT_CAPTURABLE)
// clang-format on
NUMBERS(SAME_NUMBER)
