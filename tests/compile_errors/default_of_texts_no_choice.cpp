// says: is not one of its choices in one_of
// about: modes
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  tenon::Texts modes = {"mean", "max"};

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("modes", &Wrong::modes, "how to reduce").one_of({"mean", "sum"});
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
