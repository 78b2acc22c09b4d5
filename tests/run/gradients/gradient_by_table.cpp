// A gradient() that violates the rules of the ABI is refused, whatever language it is written in.
#include <doctest/doctest.h>

#include <string>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

struct Twice : Operator {
  static constexpr void describe(auto& op) {
    op.doc("twice x");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  void forward(const Call& call) const {
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      call.output<float>(0)[i] = 2 * call.input<float>(0)[i];
  }
  void gradient(Gradient&) const {}
};

struct SumOrFirst : Operator {
  static constexpr void describe(auto& op) {
    op.doc("first + second, or first");
    op.types({f32});
    op.input("first", "any shape");
    op.input("second", "the same shape").optional();
    op.output("y", "the same shape");
  }
  void forward(const Call& call) const {
    const auto first = call.input<float>(0);
    for (std::int64_t i = 0; i < first.size(); ++i)
      call.output<float>(0)[i] =
          first[i] + (call.has_input("second") ? call.input<float>(1)[i] : 0);
  }
  void gradient(Gradient& g) const {
    g.set_input_grad(0, g.add("sum_or_first", {g.output_grad(0), Gradient::Value{}}));
  }
};

using GradientCall = std::int32_t (*)(tenon_gradient* io);

std::string error_of(GradientCall step) {
  static GradientCall current_step;
  current_step = step;
  tenon_operator table = *table_of<Twice>();
  table.gradient = [](const void*, tenon_gradient* io) { return current_step(io); };
  ApplicationHost host;
  host.add_operator(manifest_of<Twice>("twice"), &table);
  Graph graph(host);
  const auto x = graph.variable("x", f32, {2});
  const auto y = graph.add("twice", {x}, {}, "node");
  return failure_of([&] { graph.gradient(y, {x}); }).message;
}

}  // namespace

TEST_CASE("a gradient() that violates the rules of the ABI is refused with a message") {
  static tenon_value dy;
  const struct {
    GradientCall step;
    const char* words;
  } rows[] = {
      {[](tenon_gradient* io) { return io->value(io, TENON_GRADIENT_INPUT, 1, &dy); },
       "its gradient() requests input 1, but there are 1"},
      {[](tenon_gradient* io) { return io->value(io, TENON_GRADIENT_OUTPUT_GRAD, 1, &dy); },
       "its gradient() requests output 1, but there are 1"},
      {[](tenon_gradient* io) { return io->value(io, -1, 0, &dy); },
       "its gradient() requests output 0, but there are 1"},
      {[](tenon_gradient* io) { return io->add(io, nullptr, nullptr, 0, nullptr, 0, &dy); },
       "its gradient() adds a node without an operator"},
      {[](tenon_gradient* io) {
         const tenon_attribute nameless{};
         return io->add(io, "twice", nullptr, 0, &nameless, 1, &dy);
       },
       "its gradient() gives 'twice' a parameter without a name"},
      {[](tenon_gradient* io) {
         tenon_attribute unknown{};
         unknown.name = "a";
         unknown.kind = 99;
         return io->add(io, "twice", nullptr, 0, &unknown, 1, &dy);
       },
       "parameter 'a' has unknown kind 99"},
      {[](tenon_gradient* io) {
         tenon_attribute empty{};
         empty.name = "a";
         empty.kind = TENON_ATTR_TEXT;
         empty.count = 3;
         return io->add(io, "twice", nullptr, 0, &empty, 1, &dy);
       },
       "parameter 'a' has no value"},
      {[](tenon_gradient* io) {
         const tenon_value foreign = 1u << 30;
         return io->add(io, "twice", &foreign, 1, nullptr, 0, &dy);
       },
       "its gradient() passes a value that does not belong to this graph"},
      {[](tenon_gradient* io) { return io->set_input_grad(io, 1, 0); },
       "its gradient() sets the gradient of input 1, but there are 1"},
      {[](tenon_gradient* io) { return io->set_input_grad(io, 0, 1u << 30); },
       "its gradient() passes a value that does not belong to this graph"},
      {[](tenon_gradient* io) {
         const tenon_value empty = TENON_NO_VALUE;
         return io->add(io, "twice", &empty, 1, nullptr, 0, &dy);
       },
       "input 'x' is missing (any shape)"},
      {[](tenon_gradient* io) { return io->set_input_grad(io, 0, TENON_NO_VALUE); },
       "its gradient() sets the gradient of an input to an empty value"},
  };
  for (const auto& row : rows) {
    CAPTURE(std::string(row.words));
    const auto error = error_of(row.step);
    CAPTURE(error);
    CHECK(error.find(row.words) != std::string::npos);
  }
}

TEST_CASE("an empty value in a gradient() omits an optional input of the added node") {
  ApplicationHost host;
  host.add<SumOrFirst>();
  Graph graph(host);
  const auto x = graph.variable("x", Tensor::from({1.f, 2.f}, {2}));
  const auto y =
      graph.add("sum_or_first", {x, graph.constant("c", Tensor::from({10.f, 20.f}, {2}))});
  graph.output("y", y);
  graph.output("dx", graph.gradient(y, {x})[0]);
  const auto found = Session(graph).run({});
  CHECK(found.at("y").values<float>()[1] == 22);
  CHECK(found.at("dx").values<float>()[0] == 1);
  CHECK(found.at("dx").values<float>()[1] == 1);
}
