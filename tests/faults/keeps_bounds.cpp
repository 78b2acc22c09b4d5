#include "doubling.hpp"

/// Valid: bounds of 0, which integers cannot leave by a step of less than 1.
struct KeepsBounds : Doubling {
  std::int32_t least = 0, most = 0;
  std::int64_t large = 0;
  tenon::Ints list = {0};
  float real = 0;
  tenon::Table<float> table = {0};
  tenon::Table<std::int32_t> whole = {0};
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.param("least", &KeepsBounds::least, "is not used").at_least(0);
    op.param("most", &KeepsBounds::most, "is not used").at_most(0);
    op.param("large", &KeepsBounds::large, "is not used").at_least(0);
    op.param("list", &KeepsBounds::list, "is not used").at_least(0);
    op.param("real", &KeepsBounds::real, "is not used").at_least(0);
    op.param("table", &KeepsBounds::table, "is not used").at_least(0);
    op.param("whole", &KeepsBounds::whole, "is not used").at_most(0);
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(keeps_bounds, KeepsBounds)
