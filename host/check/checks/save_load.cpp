#include <fmt/format.h>

#include "check/calls/test_call.hpp"

namespace tenon::checks {
namespace {

Attributes attributes_of(const Graph& graph) {
  return graph.nodes().front().attributes;
}

std::string compare(const Attributes& left, const Attributes& right) {
  if (left.size() != right.size())
    return fmt::format("the number of parameters changed from {} to {} after loading", left.size(),
                       right.size());
  for (auto l = left.begin(), r = right.begin(); l != left.end(); ++l, ++r)
    if (*l != *r)
      return fmt::format("parameter '{}' is {} but comes back as '{}' {}", l->first,
                         to_string(l->second), r->first, to_string(r->second));
  return {};
}

}  // namespace

Outcome check_save_load(const CheckedOperator& checked) {
  Host host(host_options(checked));
  add_operators(host, checked);
  Threads threads(1);
  constexpr std::size_t max_samples = 48;
  return each_sample(
      checked, TestInputKind::ordinary,
      [&](const OperatorCall& call, const TestInput& sample) {
        if (call.outputs() == 0) return std::string();
        SingleNode node(host, checked.op, sample);
        auto& graph = node.graph;
        graph.output("checked", node.output);
        auto loaded = Graph::from_bytes(host, graph.to_bytes());
        loaded.bind();
        const auto attributes = attributes_of(loaded);
        if (auto fault = compare(attributes_of(graph), attributes); !fault.empty()) return fault;
        const OperatorCall call_again(checked.op, attributes);
        TestCall test_call(call, sample, checked.seed), again(call_again, sample, checked.seed);
        test_call.run(threads);
        again.run(threads);
        const int differs = first_difference(test_call.outputs, again.outputs);
        return differs < 0 ? std::string()
                           : fmt::format("output {} has different bits with the loaded parameters",
                                         differs);
      },
      max_samples, Draws::positive);
}

}  // namespace tenon::checks
