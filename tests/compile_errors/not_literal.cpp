// says: must be constructible at compile time
#include <map>
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  std::map<int, float> table;  // constexpr vectors work in g++ 12, maps in no compiler

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
