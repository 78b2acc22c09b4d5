#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>
#include <tenon/host/failure.hpp>

#include "device/devices.hpp"
#include "io/at_end.hpp"
#include "run/host_impl.hpp"
#include "tensor/call_context.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon {
namespace {

void parallel_for(const tenon_call* call, std::int64_t n, std::int64_t grain, tenon_body body,
                  void* body_context) {
  auto& context = *static_cast<CallContext*>(call->context);
  if (!context.threads.parallel_for(n, grain, body, body_context)) context.note_changed_modes();
}

std::int32_t refuse(tenon_error* error, std::int32_t kind, const char* form, std::uint32_t output) {
  error->kind = kind;
  std::snprintf(error->text, error->capacity, form, output);
  return 1;
}

std::int32_t allocate_sparse(const tenon_call* call, std::uint32_t output, std::int64_t stored,
                             tenon_tensor** out, tenon_error* error) {
  *out = nullptr;
  const bool backward = is_backward(call->dispatch);
  if (output >= (backward ? call->input_count : call->output_count))
    return refuse(error, TENON_ERROR_FAILED, "there is no output %u to allocate", output);
  auto* tensor = (backward ? call->input_grads : call->outputs)[output];
  if (tensor == nullptr)
    return refuse(error, TENON_ERROR_FAILED, "output %u was not requested: check write() first",
                  output);
  if (tensor->storage == TENON_DENSE)
    return refuse(error, TENON_ERROR_TYPE,
                  "output %u was planned as dense, so it has its memory already", output);
  try {
    static_cast<CallContext*>(call->context)->memory->allocate(*tensor, stored);
  } catch (const std::exception& failure) {
    error->kind = TENON_ERROR_MEMORY;
    std::snprintf(error->text, error->capacity, "output %u: %s", output, failure.what());
    return 1;
  }
  *out = tensor;
  return 0;
}

std::int32_t allocate(const tenon_call* call, std::uint32_t output, const std::int64_t* dims,
                      std::int32_t rank, tenon_tensor** out, tenon_error* error) {
  *out = nullptr;
  if (is_backward(call->dispatch) || output >= call->output_count ||
      call->outputs[output] == nullptr)
    return refuse(error, TENON_ERROR_FAILED, "there is no output %u to allocate", output);
  auto& tensor = *call->outputs[output];
  if (tensor.storage != TENON_STORAGE_UNKNOWN)
    return refuse(error, TENON_ERROR_FAILED,
                  "output %u has its memory already: a kernel may allocate only outputs that "
                  "describe() declares allocated(), each once",
                  output);
  try {
    static_cast<CallContext*>(call->context)
        ->memory->allocate_dense(tensor, {dims, static_cast<std::size_t>(std::max(rank, 0))});
  } catch (const std::exception& failure) {
    error->kind = TENON_ERROR_MEMORY;
    std::snprintf(error->text, error->capacity, "output %u: %s", output, failure.what());
    return 1;
  }
  *out = &tensor;
  return 0;
}

// The host makes a GPU current before it calls a kernel on it.
Device* gpu_of(const tenon_call& call) {
  if (call.stream == nullptr) return nullptr;
  const auto& all = devices();
  const auto found = std::find_if(all.begin(), all.end(), [](Device* each) {
    return !each->is_cpu() && each->current() == each->id();
  });
  return found == all.end() ? nullptr : *found;
}

std::int32_t allocate_scratch(const tenon_call* call, std::uint64_t bytes, void** out,
                              tenon_error* error) {
  *out = nullptr;
  try {
    Device* const gpu = gpu_of(*call);
    if (gpu == nullptr)
      throw Failure(FailureKind::failed,
                    "GPU scratch is only for kernels that run on a GPU; others use workspace()");
    if (gpu->is_capturing(call->stream))
      throw Failure(FailureKind::failed,
                    "a kernel that allocates scratch cannot be captured and must not declare "
                    "itself capturable");
    *out = gpu->allocate(bytes, call->stream, "the scratch memory of a kernel");
    return 0;
  } catch (const std::exception& failure) {
    error->kind = TENON_ERROR_MEMORY;
    std::snprintf(error->text, error->capacity, "%s", failure.what());
    return 1;
  }
}

void free_scratch(const tenon_call* call, void* memory) {
  try {
    if (Device* const gpu = gpu_of(*call); gpu != nullptr && memory != nullptr)
      gpu->free(static_cast<std::byte*>(memory), call->stream);
  } catch (const std::exception&) {  // the GPU is lost; the next call that can fail reports it
  }
}

void log(const tenon_call* call, std::int32_t level, const char* text) {
  try {
    if (auto* lines = static_cast<const CallContext*>(call->context)->log)
      lines->add(level, text == nullptr ? "" : text);
  } catch (const std::exception&) {  // out of memory: drop the line
  }
}

std::int32_t cancelled(const tenon_call* call) {
  const auto* stop = static_cast<const CallContext*>(call->context)->stop;
  return stop != nullptr && stop->stop_requested() ? 1 : 0;
}

template <class Function>
tenon_function as_function(Function* function) {
  return reinterpret_cast<tenon_function>(function);
}

tenon_function query(const char* name) {
  const std::string_view requested = name == nullptr ? "" : name;
  if (requested == "allocate/1") return as_function(allocate);
  if (requested == "allocate_scratch/1") return as_function(allocate_scratch);
  if (requested == "free_scratch/1") return as_function(free_scratch);
  if (requested == "log/1") return as_function(log);
  if (requested == "cancelled/1") return as_function(cancelled);
  if (requested == "at_end/1") return as_function(at_end);
  return nullptr;
}

}  // namespace

const tenon_host& host_table() {
  static constexpr tenon_host table{sizeof(tenon_host), TENON_ABI_MAJOR, TENON_ABI_MINOR,
                                    parallel_for,       allocate_sparse, query};
  return table;
}

}  // namespace tenon
