// Operators for requests that fail without affecting others: one fails for certain inputs, one
// counts how often its types were inferred.
#include <atomic>
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

struct Inferences : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("how often infer() of this operator was called in this process");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("count", "same shape as x");
  }
  void infer(tenon::Infer& types) const {
    types.set_output(0, types.input(0).shape);
    ++count;
  }
  void forward(const tenon::Call& call) const {
    for (float& value : call.output<float>(0)) value = static_cast<float>(count);
  }
  static inline std::atomic<int> count = 0;
};
TENON_OPERATOR(inferences, Inferences)
