#include "doubling.hpp"

struct WrongForNegative : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.backward_reads("x");
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) call.output<float>(0)[i] = x[i] < 0 ? 0 : 2 * x[i];
  }
  void backward(const tenon::Call& call) const {
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 2 * dy[i];  // 0 for negative x
  }
};
TENON_OPERATOR(wrong_for_negative, WrongForNegative)
