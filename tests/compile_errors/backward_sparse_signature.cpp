// says: backward_sparse must be public
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  void backward_sparse() const {}

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
