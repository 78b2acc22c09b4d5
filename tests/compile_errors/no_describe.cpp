// says: the class needs: static constexpr void describe(auto& op)
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
