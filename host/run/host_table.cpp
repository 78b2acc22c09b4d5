#include <cstdio>
#include <exception>

#include "run/host_impl.hpp"
#include "tensor/call_context.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon {
namespace {

void parallel_for(const tenon_call* call, std::int64_t n, std::int64_t grain, tenon_body body, void* body_context) {
  auto& context = *static_cast<CallContext*>(call->context);
  if (!context.threads.parallel_for(n, grain, body, body_context)) context.left_modes = true;
}

std::int32_t refuse(tenon_error* error, std::int32_t kind, const char* form, std::uint32_t output) {
  error->kind = kind;
  std::snprintf(error->text, error->capacity, form, output);
  return 1;
}

std::int32_t allocate_sparse(const tenon_call* call, std::uint32_t output, std::int64_t stored, tenon_tensor** out, tenon_error* error) {
  *out = nullptr;
  const bool backward = is_backward(call->dispatch);
  if (output >= (backward ? call->input_count : call->output_count))
    return refuse(error, TENON_ERROR_FAILED, "there is no output %u to allocate", output);
  auto* tensor = (backward ? call->input_grads : call->outputs)[output];
  if (tensor == nullptr) return refuse(error, TENON_ERROR_FAILED, "output %u is not wanted: look at write() first", output);
  if (tensor->storage == TENON_DENSE)
    return refuse(error, TENON_ERROR_TYPE, "output %u was planned as dense, so it has its memory already", output);
  try {
    static_cast<CallContext*>(call->context)->sparse.allocate(*tensor, stored);
  } catch (const std::exception& failure) {
    error->kind = TENON_ERROR_MEMORY;
    std::snprintf(error->text, error->capacity, "output %u: %s", output, failure.what());
    return 1;
  }
  *out = tensor;
  return 0;
}

}  // namespace

const tenon_host& host_table() {
  static constexpr tenon_host table{sizeof(tenon_host), TENON_ABI_MAJOR, TENON_ABI_MINOR, parallel_for, allocate_sparse};
  return table;
}

}  // namespace tenon
