// A run that uses an ONNX model's original names of inputs and outputs.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <tenon/host/session.hpp>

#include "graph/model.hpp"

namespace tenon {

/// The arguments of a run, converted to the graph's names. Results keep the names by which they
/// were requested.
struct RenamedRun {
  /// Returns nullopt if every name is a name of the graph, or unknown.
  static std::optional<RenamedRun> of(const GraphModel& model, const NamedTensors& inputs,
                                      const RunOptions& request);

  void name(NamedTensors& outputs) const;

  NamedTensors inputs;
  RunOptions request;
  std::map<std::string, std::string>
      requested{};  ///< the graph's own name -> the name by which the output was requested
};

}  // namespace tenon
