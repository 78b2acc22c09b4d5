// The memory plan of a graph, without allocating memory.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/host/graph.hpp>
#include <utility>
#include <vector>

#include "device/devices.hpp"
#include "plan/passes.hpp"
#include "run/graph_impl.hpp"

/// A graph with everything that its plan is made from.
class Planned {
 public:
  explicit Planned(tenon::Graph graph, bool training = false,
                   const std::map<std::string, tenon::Shape>& shapes = {})
      : graph_(std::move(graph)), training_(training) {
    graph_.bind();
    tensors_ = tenon::tensors_of(model_of(graph_));
    kernels_.emplace(model_of(graph_), binding(), impl_of(graph_).plugins().load("cast_storage"),
                     tenon::cpu_device());
    types_ = tenon::infer_with(model_of(graph_), binding(), tensors_,
                               tenon::input_types(model_of(graph_), shapes))
                 .types;
  }
  /// Runs the passes up to and including `last`, then calls look(draft).
  template <class Look>
  void up_to(std::string_view last, Look&& look) const {
    const tenon::PlanRequest request{.training = training_};
    tenon::PlanDraft draft(impl_of(graph_).current, *kernels_, tensors_, types_, request);
    tenon::run_passes(draft, last);
    look(draft);
  }
  /// Calls look(name, draft) after each pass.
  template <class Look>
  void each_pass(Look&& look) const {
    const tenon::PlanRequest request{.training = training_};
    tenon::PlanDraft draft(impl_of(graph_).current, *kernels_, tensors_, types_, request);
    for (const auto& pass : tenon::plan_passes) {
      pass.run(draft);
      look(pass.name, draft);
    }
  }
  /// The plan without fused elementwise groups and channels-last values.
  tenon::MemoryPlan plan() const {
    const tenon::PlanRequest request{.training = training_, .optimize = tenon::Optimize::none};
    tenon::PlanDraft draft(impl_of(graph_).current, *kernels_, tensors_, types_, request);
    tenon::run_passes(draft, "placement");
    return std::move(draft.plan->memory);
  }
  std::shared_ptr<const tenon::Plan> whole() const {
    return tenon::make_plan(impl_of(graph_).current, *kernels_, tensors_, types_,
                            {.training = training_});
  }
  const tenon::Kernels& kernels() const { return *kernels_; }

 private:
  const tenon::Binding& binding() const { return impl_of(graph_).binding(); }

  tenon::Graph graph_;
  bool training_;
  tenon::TensorTable tensors_;
  std::optional<tenon::Kernels> kernels_;
  std::vector<tenon_type> types_;
};

inline tenon::MemoryPlan plan_of(const tenon::Graph& graph, bool training = false,
                                 const std::map<std::string, tenon::Shape>& shapes = {}) {
  return Planned(graph, training, shapes).plan();
}
