// says: infer must be public: void infer(tenon::Infer& io) const
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  void infer(tenon::Infer&) {}

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
