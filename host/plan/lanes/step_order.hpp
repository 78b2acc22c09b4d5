// Which steps of a plan must come after which others, wherever its values lie.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace tenon {

/// For each step the earlier ones that it must follow, in ascending order; those that others imply may be missing. Steps that share memory
/// only since a plan uses it again do not follow each other here.
class StepOrder {
 public:
  std::span<const std::uint32_t> before(std::uint32_t step) const {
    return {before_.data() + first_[step], first_[step + 1] - first_[step]};
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(first_.size() - 1); }
  /// Whether two steps may run at once.
  bool has_width() const;

  void add(std::span<std::uint32_t> before_next);  ///< of the next step, in any order; sorts them

 private:
  std::vector<std::uint32_t> first_{0}, before_;
};

/// A step follows whoever made, or last changed, what it uses: values, and the memory in which sums and updated variables grow; states,
/// which it may change; its kernel object, which one thread at a time may use; the worker process of its plugin, which has one call at a
/// time so that an end of it is that call's; and, of steps that other processes wait for, the one before. Of a plan without GPUs.
StepOrder order_of_steps(const Plan& plan, const Kernels& kernels);

/// Calls visit(value, written) for each value that a step reads or makes; states are both.
template <class Visit>
void for_each_access(const Plan& plan, std::uint32_t step, const Visit& visit) {
  const auto& model = plan.model();
  const auto& node = plan.node(step);
  for (std::uint32_t i = 0; i < node.input_count; ++i)
    if (const auto value = model.edges[node.first_edge + i]; value != none) visit(value, false);
  const auto& forward = forward_of(model, node);
  for (std::uint32_t i = 0; i < forward.state_count; ++i) visit(model.edges[forward.first_edge + forward.input_count + i], true);
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    if (plan.write(step, i) != TENON_WRITE_NONE) visit(node.first_output + i, true);
}

}  // namespace tenon
