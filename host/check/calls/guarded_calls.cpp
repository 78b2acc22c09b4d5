#include "check/calls/guarded_calls.hpp"

#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "tensor/kernel_function.hpp"

namespace tenon::checks {
namespace {

constexpr std::size_t stack_between_calls = 16 << 10;
constexpr std::size_t workspace_alignment = 64;  // what the host guarantees to kernels
constexpr std::uint8_t workspace_fill = 0xc3;

/// A copy of a call, its arrays and its tensor descriptors on separate pages.
class CopiedCall {
 public:
  CopiedCall(const tenon_call& original, Placement workspace)
      : pages_(guarded_tensor(DType::u8, {size_of_copy(original)}, Placement::after_guard, 0, "")),
        next_(static_cast<std::byte*>(pages_.data())) {
    const bool backward = is_backward(original.dispatch);
    call_ = add(&original, 1);
    call_->inputs = tensors(original.inputs, original.input_count);
    call_->outputs = tensors(original.outputs, original.output_count);
    call_->states = tensors(original.states, original.state_count);
    if (backward) call_->output_grads = tensors(original.output_grads, original.output_count);
    if (backward) call_->input_grads = tensors(original.input_grads, original.input_count);
    call_->writes = add(original.writes, backward ? original.input_count : original.output_count);
    guard_workspace(workspace);
  }
  const tenon_call& call() const { return *call_; }
  const Tensor& pages() const { return pages_; }
  /// Describes bytes next to the workspace that the kernel wrote; empty if it wrote none.
  std::string stray_write() const {
    return workspace_ ? checks::stray_write(workspace_, workspace_fill) : std::string();
  }

 private:
  static std::int64_t size_of_copy(const tenon_call& call) {
    constexpr std::size_t bytes_per_tensor =
        sizeof(void*) + sizeof(tenon_tensor) + sizeof(std::int64_t) * 2 * TENON_MAX_RANK + 1;
    const std::size_t tensors =
        2 * std::size_t{call.input_count} + 2 * std::size_t{call.output_count} + call.state_count;
    return static_cast<std::int64_t>(sizeof call + bytes_per_tensor * tensors);
  }

  template <class T>
  T* add(const T* from, std::size_t count) {
    auto* const to = reinterpret_cast<T*>(next_);
    next_ = reinterpret_cast<std::byte*>(std::copy_n(from, count, to));
    return to;
  }

  // Outputs that the kernel allocates are not copied, because their memory is identified by the
  // descriptor.
  template <class Pointer>
  Pointer* tensors(Pointer const* from, std::size_t count) {
    Pointer* const to = add(from, count);
    for (std::size_t i = 0; i < count; ++i)
      if (from[i] != nullptr &&
          (is_backward(call_->dispatch) || from[i]->storage != TENON_STORAGE_UNKNOWN))
        to[i] = tensor(*from[i]);
    return to;
  }

  void guard_workspace(Placement placement) {
    const auto size = static_cast<std::int64_t>(call_->workspace_size);
    if (size == 0 || call_->workspace == nullptr) return;
    workspace_ = guarded_tensor(DType::u8, {size}, placement, workspace_fill, "the workspace",
                                workspace_alignment);
    call_->workspace = workspace_.data();
  }

  tenon_tensor* tensor(const tenon_tensor& from) {
    auto* const to = add(&from, 1);
    const auto rank = static_cast<std::size_t>(from.dense.ndim);
    to->dense.shape = add(from.dense.shape, rank);
    if (from.dense.strides != nullptr) to->dense.strides = add(from.dense.strides, rank);
    return to;
  }

  Tensor pages_, workspace_;
  std::byte* next_;
  tenon_call* call_ = nullptr;
};

// Calls the kernel deeper in the stack, so that the call's stack frame is not overwritten
// afterwards: a kernel that keeps a pointer to the SDK's call object then reaches the earlier call.
[[gnu::noinline]] std::int32_t call_deeper(std::size_t bytes, tenon_kernel_function function,
                                           void* object, const tenon_call& call) {
  auto* const deeper = static_cast<volatile char*>(alloca(bytes));
  deeper[0] = 0;
  return function(object, &call);
}

}  // namespace

GuardedCalls::GuardedCalls(const LoadedOperator& op) : kernel_(*op.kernel(TENON_CPU)), op_(op) {
  std::memcpy(&table_, &kernel_, std::min<std::size_t>(sizeof table_, kernel_.size));
  if (kernel_.forward != nullptr)
    table_.forward = [](void* object, const tenon_call* call) {
      return current_->call(current_->kernel_.forward, object, *call);
    };
  if (kernel_.backward != nullptr)
    table_.backward = [](void* object, const tenon_call* call) {
      return current_->call(current_->kernel_.backward, object, *call);
    };
  if (op_.table == &kernel_) op_.table = &table_;
  op_.kernels[TENON_CPU] = &table_;
  op_.candidates[TENON_CPU] = {&table_};
  current_ = this;
}

std::int32_t GuardedCalls::call(tenon_kernel_function function, void* object,
                                const tenon_call& original) {
  const CopiedCall copied(
      original, earlier_.size() % 2 == 0 ? Placement::after_guard : Placement::before_guard);
  const auto result =
      call_deeper((earlier_.size() + 1) * stack_between_calls, function, object, copied.call());
  if (fault_.empty()) fault_ = copied.stray_write();
  protect(copied.pages());
  earlier_.push_back(copied.pages());
  return result;
}

}  // namespace tenon::checks
