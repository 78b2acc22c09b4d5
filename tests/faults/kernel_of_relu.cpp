// No fault: a kernel variant for an operator that comes with Tenon.
#include "doubling.hpp"

struct ReluOfFloats : Doubling {
  static constexpr int priority = 10;
  bool supports(const tenon::Infer& types) const { return types.input(0).dtype == tenon::f32; }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    const bool add = call.write(0) == tenon::Write::add;
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = (add ? y[i] : 0) + (x[i] <= 0 ? 0 : x[i]);
  }
};
TENON_KERNEL_VARIANT(relu, cpu, ReluOfFloats)
