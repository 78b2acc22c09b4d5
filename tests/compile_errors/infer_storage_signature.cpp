// says: infer_storage must be public
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  void infer_storage(tenon::Infer&) const {}

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
