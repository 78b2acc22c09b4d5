// says: supports must be public: bool supports(const tenon::Infer& types) const
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  bool supports(tenon::DType) const { return true; }

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
