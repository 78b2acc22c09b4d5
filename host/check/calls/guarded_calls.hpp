// Kernel calls whose data becomes inaccessible once they return.
#pragma once
#include <string>
#include <vector>

#include "check/calls/guarded_memory.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon::checks {

/// Wraps an operator whose CPU kernel gets each tenon_call, its arrays and its tensor descriptors
/// on pages that become inaccessible when the kernel returns (see report_crashes()). The workspace
/// alternately starts right after and ends right before a guard page. Supports dense calls only. At
/// most one instance may exist per process, and objects of op() must be destroyed before it.
class GuardedCalls {
 public:
  explicit GuardedCalls(const LoadedOperator& op);
  ~GuardedCalls() { current_ = nullptr; }
  GuardedCalls(const GuardedCalls&) = delete;
  GuardedCalls& operator=(const GuardedCalls&) = delete;
  const LoadedOperator& op() const { return op_; }
  /// Describes the first write next to a workspace outside of guard pages; empty if there was none.
  const std::string& fault() const { return fault_; }

 private:
  std::int32_t call(tenon_kernel_function function, void* object, const tenon_call& original);

  static inline GuardedCalls* current_ =
      nullptr;  // the functions of a table have no context argument
  const tenon_operator& kernel_;
  tenon_operator table_{};
  LoadedOperator op_;
  std::string fault_;
  std::vector<Tensor> earlier_;  // pages of finished calls
};

}  // namespace tenon::checks
