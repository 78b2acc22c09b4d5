#include "doubling.hpp"

struct WrongGradient : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.backward_reads();
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
  void backward(const tenon::Call& call) const {
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    // for twice x, it should be doubled
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = dy[i];
  }
};
TENON_OPERATOR(wrong_gradient, WrongGradient)
