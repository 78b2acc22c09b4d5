// The packed constants of a plan's kernels, while the plan can run.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/kernels.hpp"
#include "plan/plan.hpp"
#include "run/execution/packed_blocks.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {

/// Filled before a run, and filled again if elements may have changed since. The plan, the kernels
/// and the tensor table outlive it. Threads: one at a time.
class PackedMemory {
 public:
  /// `promised`: the application guarantees for this `session` that it does not change constants.
  PackedMemory(const Plan& plan, const Kernels& kernels, const TensorTable& tensors, int threads,
               bool promised, const void* session);
  PackedMemory(const PackedMemory&) = delete;
  PackedMemory& operator=(const PackedMemory&) = delete;

  /// The packed constants of a step's call, by slot; entries are null until update() has filled
  /// them.
  std::span<const void* const> of(std::uint32_t step) const;
  /// To be called before each run. Throws Failure that names the node if a kernel cannot fill.
  void update() {
    if (!waiting_ && versions_ == TrackedTensor::all_versions()) [[likely]]
      return;
    fill();
  }
  /// Bytes that filling will allocate, not counting blocks that other executions already hold.
  std::uint64_t missing_bytes() const;

 private:
  struct Entry {
    PackedConstant planned;
    std::shared_ptr<PackedBlock> block;
  };
  struct PackedStep {
    std::uint32_t step;
    std::vector<Entry> entries;
    std::vector<ValueId> constants;       // that its kernel sees
    std::vector<std::uint64_t> versions;  // of the constants, when it was filled
    std::vector<const void*> pointers;    // by slot
    bool filled = false;
  };
  void add(const PackedConstant& entry);
  bool may_change(const Tensor& tensor) const {
    return !promised_ && TrackedTensor::may_be_written(tensor);
  }
  PackedKey key_of(const PackedStep& packed_step, const PackedConstant& entry) const;
  void fill();
  void fill(PackedStep& packed_step);
  static void forget(PackedStep& packed_step);

  const Plan& plan_;
  const Kernels& kernels_;
  const TensorTable& tensors_;
  const int threads_;
  const bool promised_;
  const void* session_;
  std::vector<PackedStep> steps_;
  std::uint64_t versions_ = 0;
  bool waiting_ =
      true;  // initially, and while the application has a handle that it could write through
};

}  // namespace tenon
