#include "cli/check/single_node.hpp"

#include <fmt/format.h>

namespace tenon::cli {

HostOptions host_options(const Subject& subject) {
  HostOptions options;
  options.threads = 1;
  options.trust_writable = subject.trust_writable;
  options.search_defaults = false;
  return options;
}

SingleNode::SingleNode(Host& host, const LoadedOperator& op, const Sample& sample) : graph(host) {
  for (std::size_t i = 0; i < sample.types.inputs.size(); ++i) {
    const auto& type = sample.types.inputs[i];
    inputs.push_back(type.present ? graph.input(fmt::format("input_{}", i), static_cast<DType>(type.dtype), shape_of(type)) : Value());
  }
  output = graph.add(op.info->name, inputs, sample.attributes, "node");
}

}  // namespace tenon::cli
