#include <tenon/elementwise.hpp>

struct LogicalNot : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("true where x is false, and false where it is true");
    op.types({tenon::boolean});
    op.input("x", "true or false");
    op.output("y", "same shape as x");
    op.onnx("", "Not");
  }

  TENON_FN bool operator()(bool x) const { return !x; }
};
TENON_OPERATOR(logical_not, LogicalNot)
