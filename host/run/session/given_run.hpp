// A run whose inputs and outputs are called as an ONNX model calls them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <tenon/host/session.hpp>

#include "graph/model.hpp"

namespace tenon {

/// The arguments of a run by the graph's own names. Results keep the names by which they were requested.
struct GivenRun {
  /// Nothing if every name is the graph's own, or one that it does not have.
  static std::optional<GivenRun> of(const GraphModel& model, const NamedTensors& inputs, const RunOptions& request);

  void name(NamedTensors& outputs) const;

  NamedTensors inputs;
  RunOptions request;
  std::map<std::string, std::string> requested{};  ///< the graph's own name -> the name by which the output was requested
};

}  // namespace tenon
