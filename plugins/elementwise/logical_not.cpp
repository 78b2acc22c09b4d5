#include <tenon/elementwise.hpp>

struct LogicalNot : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("logical NOT of x, element by element");
    op.types({tenon::boolean});
    op.input("x", "bool");
    op.output("y", "same shape as x");
    op.onnx("", "Not");
  }

  TENON_FN bool operator()(bool x) const { return !x; }
};
TENON_OPERATOR(logical_not, LogicalNot)
