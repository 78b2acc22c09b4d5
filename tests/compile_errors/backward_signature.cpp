// says: backward must be public: void backward(const tenon::Call& call) const
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  void backward(tenon::Gradient&) const {}

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
