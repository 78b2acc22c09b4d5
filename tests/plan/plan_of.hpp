// The memory plan of a graph, without the memory.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tenon/host/graph.hpp>
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
    tensors_ = tenon::tensors_of(model_of(graph_));
    kernels_.emplace(model_of(graph_), binding(), impl_of(graph_).plugins().load("cast_storage"), tenon::cpu_device());
    types_ = tenon::infer_with(model_of(graph_), binding(), tensors_, tenon::input_types(model_of(graph_), shapes)).types;
  }
  tenon::MemoryPlan plan() const {
    auto types = types_;
    const auto lowered = tenon::lower(impl_of(graph_).current, *kernels_, tensors_, {.training = training_}, types);
    return tenon::plan_memory(lowered, *kernels_, training_, std::move(types));
  }
  std::shared_ptr<const tenon::Plan> whole() const {
    return tenon::make_plan(impl_of(graph_).current, *kernels_, tensors_, types_, {.training = training_});
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

inline tenon::MemoryPlan plan_of(const tenon::Graph& graph, bool training = false, const std::map<std::string, tenon::Shape>& shapes = {}) {
  return Planned(graph, training, shapes).plan();
}
