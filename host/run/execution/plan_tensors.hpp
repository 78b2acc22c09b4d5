// The tensors of a plan's values.
#pragma once
#include <array>
#include <deque>
#include <span>
#include <vector>

#include "run/execution/arenas.hpp"
#include "run/execution/kernel_call.hpp"

namespace tenon {

/// Tensors in the session's arenas, of the session, or in a run's memory. The plan and the arenas
/// outlive it. The addresses of the tenon_tensor structs are stable. Threads: one at a time.
class PlanTensors {
 public:
  PlanTensors(const Plan& plan, const TensorTable& session_tensors, const Arenas& arenas);
  PlanTensors(const PlanTensors&) = delete;
  PlanTensors& operator=(const PlanTensors&) = delete;

  tenon_tensor& operator[](ValueId value) { return tensors_[value]; }
  const tenon_tensor& operator[](ValueId value) const { return tensors_[value]; }
  tenon_type& type(ValueId value) { return types_[value]; }
  std::span<std::byte> workspace(std::size_t step) const;

  /// Points an input or a dense output of the graph at a run's memory, along with the values that
  /// share its memory.
  void set_data(ValueId value, void* data);
  /// Like set_data(), for an input of any storage; its indices are int64.
  void set(ValueId value, const tenon_tensor& tensor);

 private:
  std::byte* memory_at(std::uint32_t buffer) const {
    return arenas_[plan_.memory.arena_of[buffer]] + plan_.memory.offsets[buffer];
  }

  const Plan& plan_;
  std::vector<tenon_type> types_;  // back the tensors' shapes; a copy, so that a kernel that writes
                                   // to one cannot damage the plan
  std::vector<std::byte*> arenas_;  // as plan_.memory.arenas
  std::vector<tenon_tensor> tensors_;
  std::deque<std::array<std::int64_t, TENON_MAX_RANK>> strides_;  // of channels-last values
};

}  // namespace tenon
