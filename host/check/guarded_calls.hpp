// Calls of a kernel that are nobody's once they are over.
#pragma once
#include <string>
#include <vector>

#include "check/guarded_memory.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon::checks {

/// An operator whose CPU kernel gets each tenon_call, its arrays and its tensors' descriptors in pages that nobody may touch when it has
/// returned (see report_crashes()), and a workspace right behind such a page and right before one, in turn. Dense calls alone. One at a
/// time in a process; objects of op() are gone before it.
class GuardedCalls {
 public:
  explicit GuardedCalls(const LoadedOperator& op);
  ~GuardedCalls() { now_ = nullptr; }
  GuardedCalls(const GuardedCalls&) = delete;
  GuardedCalls& operator=(const GuardedCalls&) = delete;
  const LoadedOperator& op() const { return op_; }
  /// What the first call that wrote beside its workspace, where no page is guarded, did; empty if none did.
  const std::string& fault() const { return fault_; }

 private:
  std::int32_t call(tenon_kernel_function function, void* object, const tenon_call& given);

  static inline GuardedCalls* now_ = nullptr;  // a table's functions have no place for it
  const tenon_operator& kernel_;
  tenon_operator table_{};
  LoadedOperator op_;
  std::string fault_;
  std::vector<Tensor> earlier_;  // the pages of calls that are over
};

}  // namespace tenon::checks
