#include "doubling.hpp"

/// Skips the last element if the host declares that y shares the memory of x.
struct WrongWhenToldInPlace : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.inplace("x", "y");
  }
  void forward(const tenon::Call& call) const {
    const auto count = call.input<float>(0).size();
    write(call, call.write(0) == tenon::Write::in_place ? count - 1 : count);
  }
};
TENON_OPERATOR(wrong_when_told_in_place, WrongWhenToldInPlace)
