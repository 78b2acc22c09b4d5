// says: must be constructible at compile time
#include <map>
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  std::map<int, float> table;  // g++ 12 can make a vector at compile time, no compiler a map

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
