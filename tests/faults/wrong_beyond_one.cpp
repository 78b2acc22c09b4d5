#include "doubling.hpp"

struct WrongBeyondOne : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.backward_reads("x");
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
  void backward(const tenon::Call& call) const {
    const auto x = call.input<float>(0), dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = x[i] > 1 ? 0 : 2 * dy[i];
  }
};
TENON_OPERATOR(wrong_beyond_one, WrongBeyondOne)
