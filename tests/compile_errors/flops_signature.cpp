// says: flops and backward_flops must be public: double flops(const tenon::Infer& io) const
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  int flops(const tenon::Infer&) const { return 0; }

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
