// says: prepare must be public: void prepare(tenon::Prepare& io) const
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  void prepare(const tenon::Infer&) const {}

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
