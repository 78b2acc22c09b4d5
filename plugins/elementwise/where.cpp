#include <tenon/elementwise.hpp>

struct Where : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("selects yes where condition is true, else no, element by element");
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("condition", "bool selector").types({tenon::boolean});
    op.input("yes", "values taken where condition is true");
    op.input("no", "values taken where condition is false");
    op.output("output", "the inputs' shapes broadcast together");
    op.example({{"condition", {2, 3}}, {"yes", {2, 3}}, {"no", {2, 3}}});
    op.onnx("", "Where").since(9);
  }

  template <class T>
  TENON_FN T operator()(T condition, T yes, T no) const {
    return where(condition != T(0), yes, no);
  }
};
TENON_OPERATOR(where, Where)
