// A graph of the checked operator alone.
#pragma once
#include <tenon/graph.hpp>
#include <tenon/host.hpp>

#include "cli/check/check.hpp"
#include "cli/check/sample.hpp"

namespace tenon::cli {

/// A host with the subject's plugins, on one thread.
HostOptions host_options(const Subject& subject);

/// Its inputs are `input_0`, `input_1` ... as graph inputs; those that the sample leaves out are empty. The node is called `node`.
struct SingleNode {
  SingleNode(Host& host, const LoadedOperator& op, const Sample& sample);
  Graph graph;
  std::vector<Value> inputs;
  Value output;
};

}  // namespace tenon::cli
