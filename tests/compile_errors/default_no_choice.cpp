// says: is not one of its choices in one_of
// about: pad
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  enum class Pad { same, valid } pad = Pad::same;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("pad", &Wrong::pad, "what is beyond the edge").one_of({{"valid", Pad::valid}});
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
