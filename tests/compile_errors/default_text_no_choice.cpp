// says: is not one of its choices in one_of
// about: mode
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  tenon::Text mode = "max";

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("mode", &Wrong::mode, "how to reduce").one_of({"mean", "sum"});
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
