// says: algorithm and backward_algorithm must be const: std::string algorithm(const tenon::Infer& io) const
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  int algorithm(const tenon::Infer&) const { return 0; }

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
