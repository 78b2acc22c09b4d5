// Bytes as parameters of operators with a parameter of each kind: either the node's parameters
// survive both file formats, or there is a Failure and the graph is unchanged.
#include "../file/odd_operator.hpp"
#include "accepts.hpp"
#include "choices.hpp"
#include "target.hpp"

namespace {

/// Has the parameter kinds that Odd lacks.
struct Tabled : tenon::Operator {
  tenon::Texts names = {"a", "b"}, chosen = {"soft"};
  tenon::Table<float> singles = {0.5F};
  tenon::Table<double> reals;
  tenon::Table<std::int32_t> smalls = {1, 2};
  tenon::Table<std::int64_t> wholes;

  static constexpr void describe(auto& op) {
    op.doc("has tensors and lists of texts");
    op.input("data", "anything");
    op.output("output", "like the input");
    op.param("names", &Tabled::names, "texts");
    op.param("chosen", &Tabled::chosen, "choices").one_of({"soft", "hard"});
    op.param("singles", &Tabled::singles, "floats").at_most(1000);
    op.param("reals", &Tabled::reals, "doubles");
    op.param("smalls", &Tabled::smalls, "32 bits");
    op.param("wholes", &Tabled::wholes, "64 bits");
  }
  void forward(const tenon::Call&) const {}
};

struct FuzzHost : JsonHost {
  FuzzHost() { add<Tabled>("tabled"); }
};

template <class T>
tenon::Tensor tensor_of(Choices& choices) {
  const auto rows = static_cast<std::int64_t>(choices.below(4)),
             columns = static_cast<std::int64_t>(choices.below(4));
  std::vector<T> elements(static_cast<std::size_t>(rows * columns));
  for (auto& element : elements) element = choices.take<T>();
  const auto tensor = tenon::Tensor::from(elements, {rows, columns});
  return choices.below(2) == 0 ? tensor : tensor.reshape({rows * columns});
}

tenon::AttributeValue value_of(Choices& choices) {
  switch (choices.below(11)) {
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
    case 5: {
      std::vector<std::string> list(choices.below(6));
      for (auto& text : list) text = choices.below(4) == 0 ? "soft" : choices.text();
      return list;
    }
    case 6:
      return tensor_of<float>(choices);
    case 7:
      return tensor_of<double>(choices);
    case 8:
      return tensor_of<std::int32_t>(choices);
    case 9:
      return tensor_of<std::int64_t>(choices);
    default: {
      std::vector<double> list(choices.below(6));
      for (auto& number : list) number = choices.take<double>();
      return list;
    }
  }
}

}  // namespace

TENON_FUZZ_TARGET(attributes)(const std::uint8_t* bytes, std::size_t size) {
  static FuzzHost host;
  static const std::string odd[] = {"flag",  "small",  "whole", "single", "real",
                                    "words", "wholes", "reals", "mode"};
  static const std::string tabled[] = {"names", "chosen", "singles", "reals", "smalls", "wholes"};
  Choices choices(bytes, size);
  const bool is_odd = choices.below(2) == 0;
  tenon::Attributes attributes;
  for (auto count = choices.below(5); count > 0; --count)
    attributes.set(choices.below(16) == 0 ? choices.text()
                   : is_odd               ? choices.of(odd)
                                          : choices.of(tabled),
                   value_of(choices));
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {2});
  const auto before = graph.to_json();
  try {
    graph.output("y", graph.add(is_odd ? "odd" : "tabled", {x}, attributes));
  } catch (const tenon::Failure& failure) {
    if (failure.kind() != tenon::FailureKind::usage || graph.to_json() != before) std::abort();
    return 0;
  }
  const auto text = graph.to_json();
  if (tenon::Graph::from_json(host, text).to_json() != text) std::abort();
  if (tenon::Graph::from_bytes(host, graph.to_bytes()).to_json() != text) std::abort();
  return 0;
}
