// Bytes as parameters of an operator that has one of each kind: a node whose parameters come back from both forms of files, or a Failure
// and a graph as before.
#include "../file/odd_operator.hpp"
#include "accepts.hpp"
#include "choices.hpp"
#include "target.hpp"

namespace {

tenon::AttributeValue value_of(Choices& choices) {
  switch (choices.below(6)) {
    case 0:
      return choices.below(2) == 1;
    case 1:
      return choices.take<std::int64_t>();
    case 2:
      return choices.take<double>();
    case 3:
      return choices.text();
    case 4: {
      std::vector<std::int64_t> list(choices.below(6));
      for (auto& number : list) number = choices.take<std::int64_t>();
      return list;
    }
    default: {
      std::vector<double> list(choices.below(6));
      for (auto& number : list) number = choices.take<double>();
      return list;
    }
  }
}

}  // namespace

TENON_FUZZ_TARGET(attributes)(const std::uint8_t* bytes, std::size_t size) {
  static JsonHost host;
  static const std::string names[] = {"flag", "small", "whole", "single", "real", "words", "wholes", "reals", "mode"};
  Choices choices(bytes, size);
  tenon::Attributes attributes;
  for (auto count = choices.below(5); count > 0; --count)
    attributes.set(choices.below(16) == 0 ? choices.text() : std::string(choices.of(names)), value_of(choices));
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {2});
  const auto before = graph.to_json();
  try {
    graph.output("y", graph.add("odd", {x}, attributes));
  } catch (const tenon::Failure& failure) {
    if (failure.kind() != tenon::FailureKind::usage || graph.to_json() != before) std::abort();
    return 0;
  }
  const auto text = graph.to_json();
  if (tenon::Graph::from_json(host, text).to_json() != text) std::abort();
  if (tenon::Graph::from_bytes(host, graph.to_bytes()).to_json() != text) std::abort();
  return 0;
}
