// The tensors of a plan's values.
#pragma once
#include <array>
#include <deque>
#include <span>
#include <vector>

#include "run/execution/arenas.hpp"
#include "run/execution/kernel_call.hpp"

namespace tenon {

/// In the session's arenas and tensors, or where a run puts them. The plan and the arenas outlive it. Their addresses stay the same.
/// Threads: one at a time.
class PlanTensors {
 public:
  PlanTensors(const Plan& plan, const TensorTable& given, const Arenas& arenas);
  PlanTensors(const PlanTensors&) = delete;
  PlanTensors& operator=(const PlanTensors&) = delete;

  tenon_tensor& operator[](ValueId value) { return tensors_[value]; }
  const tenon_tensor& operator[](ValueId value) const { return tensors_[value]; }
  tenon_type& type(ValueId value) { return types_[value]; }
  std::span<std::byte> workspace(std::size_t step) const;

  /// Points an input or a dense output of the graph at a run's memory, and with it the values that share that.
  void set_data(ValueId value, void* data);
  /// The same for an input of any storage; its indices are int64.
  void set(ValueId value, const tenon_tensor& tensor);

 private:
  std::byte* memory_at(std::uint32_t buffer) const { return arenas_[plan_.memory.arena_of[buffer]] + plan_.memory.offsets[buffer]; }

  const Plan& plan_;
  std::vector<tenon_type> types_;   // whose shapes the tensors have; a kernel that writes into one does not reach the plan
  std::vector<std::byte*> arenas_;  // as plan_.memory.arenas
  std::vector<tenon_tensor> tensors_;
  std::deque<std::array<std::int64_t, TENON_MAX_RANK>> strides_;  // of those that are channels-last
};

}  // namespace tenon
