// Valid, but all of its texts are special in Python or HTML: names that are keywords or used by
// calls, names of builtins, texts that would end a string, a docstring or an element.
#include "doubling.hpp"

struct Lambda : tenon::Operator {
  double in = 0.1;
  tenon::Text name = "say \"\\ \"\"\"";
  tenon::Ints axes = {1};
  bool out = true;

  static constexpr void describe(auto& op) {
    op.space("acme");
    op.alias("global");
    op.types({tenon::f32});
    op.doc("<script>document.title = 'forged'</script> & \\N \"\"\"");
    op.input("self", "</td><b>\"any\"</b>");
    op.input("from", "also \"\"\"").optional();
    op.output("y", "<i>y</i>");
    op.output("z", "twice \\");
    op.param("in", &Lambda::in, "a factor < 1 && > 0").at_least(0).less_than(1);
    op.param("name", &Lambda::name, "a text");
    op.param("axes", &Lambda::axes, "axes");
    op.param("out", &Lambda::out, "whether </code></pre>");
    op.example({{"self", {2, 3}}},
               {{"name", "</pre><script>document.title = 'forged'</script>"}, {"out", false}});
  }
  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_output(1, io.input(0).shape);
  }
  void forward(const tenon::Call& call) const {
    for (const int i : {0, 1}) {
      float* to = call.output<float>(i).data();
      for (const float value : call.input<float>(0)) *to++ = static_cast<float>(in) * value;
    }
  }
};
TENON_OPERATOR(lambda, Lambda)

struct Tuple : Lambda {
  static constexpr void describe(auto& op) {
    op.space("acme");
    op.types({tenon::f32});
    op.doc("a name that types use");
    op.input("x", "any shape").variadic();
    op.output("y", "same shape as x");
    op.output("x0", "same shape as x");
    op.param("x1", &Tuple::axes, "a name that a tensor could have");
  }
};
TENON_OPERATOR(tuple, Tuple)
