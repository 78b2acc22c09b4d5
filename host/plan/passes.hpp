// The passes that make a plan, in order.
#pragma once
#include <string>
#include <string_view>

#include "plan/draft.hpp"
#include "plan/pass_changes.hpp"

namespace tenon {

// Each pass is one function in one file. It reads and writes only the draft. Throws Failure that
// names the node if something cannot run.
void select_outputs(PlanDraft& draft);
void choose_kernels(PlanDraft& draft);
void lower(PlanDraft& draft);
void choose_layouts(PlanDraft& draft);
void fuse_elementwise(PlanDraft& draft);
void order_steps(PlanDraft& draft);
void fold_sums(PlanDraft& draft);
void find_lifetimes(PlanDraft& draft);
void find_writers(PlanDraft& draft);
void assign_buffers(PlanDraft& draft);
void add_workspaces(PlanDraft& draft);
void place_buffers(PlanDraft& draft);
void require_tensors(PlanDraft& draft);
void schedule_gpus(PlanDraft& draft);
void pack_constants(PlanDraft& draft);

struct PlanPass {
  std::string_view name, doc;
  void (*run)(PlanDraft& draft);
  /// describes what the pass did, from the finished plan
  PassChanges (*changes)(const Plan& plan);
};

inline constexpr PlanPass plan_passes[] = {
    {"outputs", "keep the requested outputs and updates", select_outputs, changes_of_outputs},
    {"kernels", "choose a device, a kernel and storages for each node", choose_kernels,
     changes_of_kernels},
    {"lowering", "add conversions to dense and copies between devices", lower, changes_of_lowering},
    {"layouts", "make values channels-last where kernels prefer it", choose_layouts,
     changes_of_layouts},
    {"elementwise fusion", "run neighboring elementwise nodes as one step, block by block",
     fuse_elementwise, changes_of_fusion},
    {"order", "order the nodes that the outputs need, and require their types", order_steps,
     changes_of_order},
    {"folded sums", "accumulate a gradient into another one without a step of its own", fold_sums,
     changes_of_sums},
    {"lifetimes", "find the last use of each value, and update variables in place", find_lifetimes,
     changes_of_lifetimes},
    {"workers", "find values that worker processes of isolated plugins may write", find_writers,
     changes_of_workers},
    {"buffers", "choose write modes, and let values share memory", assign_buffers,
     changes_of_buffers},
    {"workspaces", "add the scratch memory of kernels", add_workspaces, changes_of_workspaces},
    {"placement", "give each buffer an offset in its arena", place_buffers, changes_of_placement},
    {"variables", "check that all variables, states and constants that steps read have values",
     require_tensors, changes_of_variables},
    {"GPUs", "schedule streams, waits, captured segments and staged copies", schedule_gpus,
     changes_of_gpus},
    {"packed constants", "determine the constants that kernels pack before the first run",
     pack_constants, changes_of_constants},
};

/// Runs the passes up to and including `last`; empty: all of them.
void run_passes(PlanDraft& draft, std::string_view last = {});

}  // namespace tenon
