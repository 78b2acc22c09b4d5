// What a Session consists of.
#pragma once
#include <optional>
#include <tenon/session.hpp>

#include "plan/plan.hpp"
#include "run/graph_impl.hpp"
#include "run/trace.hpp"

namespace tenon {

struct Session::Impl {
  Impl(Graph given, SessionOptions given_options);

  /// With the plan for these inputs. `kept`: contiguous copies, which live until the run is over.
  Plan& prepare(const NamedTensors& inputs, std::vector<Tensor>& kept);
  Plan& plan_for(const std::map<ValueId, tenon_type>& inputs, const std::map<ValueId, Device*>& devices);
  NamedTensors run(Plan& plan, const NamedTensors& inputs, const Destinations& destinations);
  void execute(Plan& plan);
  void execute_traced(Plan& plan);

  // session_outputs.cpp
  NamedTensors bind_outputs(Plan& plan, const NamedTensors& inputs, const Destinations& destinations);
  void take_sparse_outputs(Plan& plan, NamedTensors& outputs);
  void check_destinations(const Plan& plan, const Destinations& destinations) const;

  // session_notes.cpp
  void tell_conversions(const Plan& plan);
  void tell_fallbacks(const Plan& plan);
  void tell_capture(const Plan& plan);

  // session_watch.cpp
  std::string watch(Plan& plan);

  Graph graph;
  SessionOptions options;
  ErrorBuffer error;
  Streams streams;
  std::optional<Kernels> kernels;
  PlanContext context;
  std::map<std::vector<std::int64_t>, std::unique_ptr<Plan>> plans;
  Trace trace;
  std::uint64_t step = 0;

 private:
  void own_changing();
  void move_stored();
  void initialize_late(const std::vector<tenon_type>& types);
  std::map<ValueId, tenon_type> check_inputs(const NamedTensors& inputs) const;
};

/// What no kernel could write where it is wanted: a second name of one value, an input given out, a sum that kernels cannot make.
void deliver(const Destinations& destinations, NamedTensors& outputs);

}  // namespace tenon
