// Describes what each pass did, as counts and as text, derived from the finished plan so that
// planning itself has no overhead.
#pragma once
#include <tenon/host/plan_info.hpp>

namespace tenon {

struct Plan;

/// `text` is empty if the pass changed nothing.
struct PassChanges {
  std::string text;
  std::vector<PassCount> counts;
};

PassChanges changes_of_outputs(const Plan& plan);
PassChanges changes_of_kernels(const Plan& plan);
PassChanges changes_of_lowering(const Plan& plan);
PassChanges changes_of_layouts(const Plan& plan);
PassChanges changes_of_fusion(const Plan& plan);
PassChanges changes_of_order(const Plan& plan);
PassChanges changes_of_sums(const Plan& plan);
PassChanges changes_of_lifetimes(const Plan& plan);
PassChanges changes_of_workers(const Plan& plan);
PassChanges changes_of_buffers(const Plan& plan);
PassChanges changes_of_workspaces(const Plan& plan);
PassChanges changes_of_placement(const Plan& plan);
PassChanges changes_of_variables(const Plan& plan);
PassChanges changes_of_gpus(const Plan& plan);
PassChanges changes_of_constants(const Plan& plan);

}  // namespace tenon
