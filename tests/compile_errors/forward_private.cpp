// says: forward must be public: void forward(const tenon::Call& call) const
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }

 private:
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
