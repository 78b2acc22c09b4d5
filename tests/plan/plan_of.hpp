// The memory plan of a graph, without the memory.
#pragma once
#include <map>
#include <string>
#include <tenon/graph.hpp>

#include "plan/memory_plan.hpp"
#include "plan/plan.hpp"
#include "run/graph_impl.hpp"

inline tenon::MemoryPlan plan_of(tenon::Graph graph, bool training = false, const std::map<std::string, tenon::Shape>& shapes = {}) {
  graph.bind();
  const auto& model = graph.model();
  const auto& binding = graph.impl().binding;
  const tenon::Kernels kernels(model, binding, "");
  return tenon::plan_memory(model, binding, kernels, training, tenon::infer_with(model, binding, tenon::input_types(model, shapes)));
}
