// The memory plan of a graph, without the memory.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <tenon/graph.hpp>
#include <vector>

#include "device/devices.hpp"
#include "plan/memory/memory_plan.hpp"
#include "plan/plan.hpp"
#include "run/graph_impl.hpp"

/// A graph with all that its plan is made of.
class Planned {
 public:
  explicit Planned(tenon::Graph graph, bool training = false, const std::map<std::string, tenon::Shape>& shapes = {})
      : graph_(std::move(graph)), training_(training) {
    graph_.bind();
    tensors_ = tenon::tensors_of(graph_.model());
    kernels_.emplace(graph_.model(), binding(), graph_.impl().plugins().load("cast_storage"), tenon::cpu_device());
    types_ = tenon::infer_with(graph_.model(), binding(), tensors_, tenon::input_types(graph_.model(), shapes));
  }
  tenon::MemoryPlan plan() const {
    auto types = types_;
    const auto lowered = tenon::lower(graph_.impl().current, *kernels_, tensors_, {.training = training_}, types);
    return tenon::plan_memory(lowered, *kernels_, training_, std::move(types));
  }

 private:
  const tenon::Binding& binding() const { return graph_.impl().binding(); }

  tenon::Graph graph_;
  bool training_;
  tenon::TensorTable tensors_;
  std::optional<tenon::Kernels> kernels_;
  std::vector<tenon_type> types_;
};

inline tenon::MemoryPlan plan_of(const tenon::Graph& graph, bool training = false, const std::map<std::string, tenon::Shape>& shapes = {}) {
  return Planned(graph, training, shapes).plan();
}
