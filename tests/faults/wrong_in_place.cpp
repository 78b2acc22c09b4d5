#include "doubling.hpp"

struct WrongInPlace : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.inplace("x", "y");
  }
  // x[0] is read after y[0] was written.
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) y.data()[i] = x.data()[i] + x.data()[0];
  }
};
TENON_OPERATOR(wrong_in_place, WrongInPlace)
