// says: must be made at compile time
#include <tenon/operator.hpp>
#include <vector>

struct Wrong : tenon::Operator {
  std::vector<float> table = std::vector<float>(3);

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
