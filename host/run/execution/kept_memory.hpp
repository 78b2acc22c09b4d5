// What the kernels of a plan keep of constants, while the plan can run.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/kernels.hpp"
#include "plan/plan.hpp"
#include "run/execution/kept_blocks.hpp"
#include "tensor/held_tensor.hpp"

namespace tenon {

/// Filled before a run, and filled again when elements may have changed since. The plan, the kernels and the table of tensors outlive it.
/// Threads: one at a time.
class KeptMemory {
 public:
  /// `promised`: the application says that it changes no constant, for this `session`.
  KeptMemory(const Plan& plan, const Kernels& kernels, const TensorTable& tensors, int threads, bool promised, const void* session);
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  /// What a step's call finds, by slot; null entries until update() has filled them.
  std::span<const void* const> of(std::uint32_t step) const;
  /// Before each run. Throws Failure that names the node where a kernel cannot fill.
  void update() {
    if (!waiting_ && versions_ == HeldTensor::all_versions()) [[likely]]
      return;
    fill();
  }
  /// What filling will take beside what other executions hold already.
  std::uint64_t missing_bytes() const;

 private:
  struct Part {
    KeptPart planned;
    std::shared_ptr<KeptBlock> block;
  };
  struct KeptStep {
    std::uint32_t step;
    std::vector<Part> parts;
    std::vector<ValueId> constants;       // that its kernel sees
    std::vector<std::uint64_t> versions;  // of those, when it was filled
    std::vector<const void*> pointers;    // by slot
    bool filled = false;
  };
  void add(const KeptPart& part);
  bool may_change(const Tensor& tensor) const { return !promised_ && HeldTensor::is_held_outside(tensor); }
  KeptKey key_of(const KeptPart& part) const;
  void fill();
  void fill(KeptStep& kept);
  static void forget(KeptStep& kept);

  const Plan& plan_;
  const Kernels& kernels_;
  const TensorTable& tensors_;
  const int threads_;
  const bool promised_;
  const void* session_;
  std::vector<KeptStep> steps_;
  std::uint64_t versions_ = 0;
  bool waiting_ = true;  // at first; and while an application has a handle by which it could write
};

}  // namespace tenon
