// says: cannot compare these parameters
// about: names
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  tenon::Ints sizes = {3};
  tenon::Texts names = {"a"};

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("sizes", &Wrong::sizes, "sizes");
    op.param("names", &Wrong::names, "their names");
    op.require("sizes", tenon::same_length, "names");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
