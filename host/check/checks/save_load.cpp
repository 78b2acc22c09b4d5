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

Outcome check_save_load(const CheckedOperator& subject) {
  Host host(host_options(subject));
  add_operators(host, subject);
  Threads threads(1);
  constexpr std::size_t most = 48;
  return each_sample(
      subject, TestInputKind::ordinary,
      [&](const OperatorCall& call, const TestInput& sample) {
        if (call.outputs() == 0) return std::string();
        SingleNode node(host, subject.op, sample);
        auto& graph = node.graph;
        graph.output("checked", node.output);
        auto loaded = Graph::from_bytes(host, graph.to_bytes());
        loaded.bind();
        const auto attributes = attributes_of(loaded);
        if (auto fault = compare(attributes_of(graph), attributes); !fault.empty()) return fault;
        const OperatorCall call_again(subject.op, attributes);
        TestCall trial(call, sample, subject.seed), again(call_again, sample, subject.seed);
        trial.run(threads);
        again.run(threads);
        const int differs = first_difference(trial.outputs, again.outputs);
        return differs < 0 ? std::string()
                           : fmt::format("output {} has different bits with the loaded parameters",
                                         differs);
      },
      most, Draws::positive);
}

}  // namespace tenon::checks
