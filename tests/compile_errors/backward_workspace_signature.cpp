// says: workspace and backward_workspace must be public
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  std::size_t backward_workspace() const { return 0; }

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
