// A gradient() that breaks the rules of the boundary is refused, whichever language it is written in.
#include <doctest/doctest.h>

#include <string>
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
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i) call.output<float>(0)[i] = 2 * call.input<float>(0)[i];
  }
  void gradient(Gradient&) const {}
};

using Step = std::int32_t (*)(tenon_gradient* io);

std::string error_of(Step step) {
  static Step wanted;
  wanted = step;
  tenon_operator table = *table_of<Twice>();
  table.gradient = [](const void*, tenon_gradient* io) { return wanted(io); };
  ApplicationHost host;
  host.add_operator(manifest_of<Twice>("twice"), &table);
  Graph graph(host);
  const auto x = graph.variable("x", f32, {2});
  const auto y = graph.add("twice", {x}, {}, "node");
  return failure_of([&] { graph.gradient(y, {x}); }).message;
}

}  // namespace

TEST_CASE("a gradient() that breaks the rules of the boundary is refused in words") {
  static tenon_value dy;
  const struct {
    Step step;
    const char* words;
  } rows[] = {
      {[](tenon_gradient* io) { return io->value(io, TENON_GRADIENT_INPUT, 1, &dy); }, "its gradient() asks for input 1, but there are 1"},
      {[](tenon_gradient* io) { return io->value(io, TENON_GRADIENT_OUTPUT_GRAD, 1, &dy); },
       "its gradient() asks for output 1, but there are 1"},
      {[](tenon_gradient* io) { return io->value(io, -1, 0, &dy); }, "its gradient() asks for output 0, but there are 1"},
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
      {[](tenon_gradient* io) { return io->set_input_grad(io, 1, 0); }, "its gradient() sets the gradient of input 1, but there are 1"},
      {[](tenon_gradient* io) { return io->set_input_grad(io, 0, 1u << 30); },
       "its gradient() passes a value that does not belong to this graph"},
  };
  for (const auto& row : rows) {
    CAPTURE(std::string(row.words));
    const auto error = error_of(row.step);
    CAPTURE(error);
    CHECK(error.find(row.words) != std::string::npos);
  }
}
