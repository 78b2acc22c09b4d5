// says: the elements of a Table are std::int32_t, std::int64_t, float or double
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  tenon::Table<short> taps;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("taps", &Wrong::taps, "of a filter");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
