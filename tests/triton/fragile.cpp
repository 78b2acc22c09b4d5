// An operator that fails depending on its input, and so for some requests only.
#include <chrono>
#include <cstdlib>
#include <tenon/operator.hpp>
#include <thread>

struct Fragile : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("twice x; throws above 100, ends the process above 1000, takes a minute below -1000");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.backward_reads();
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (x[i] > 1000) std::abort();
      if (x[i] > 100)
        throw tenon::Error("x has ", static_cast<double>(x[i]), ", which is too much");
      if (x[i] < -1000) std::this_thread::sleep_for(std::chrono::minutes(1));
      y[i] = 2 * x[i];
    }
  }
  void backward(const tenon::Call& call) const {
    for (float& value : call.input_grad<float>(0)) value = 0;
  }
};
TENON_OPERATOR(fragile, Fragile)
