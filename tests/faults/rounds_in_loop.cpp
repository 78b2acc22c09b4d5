#include <cfenv>

#include "doubling.hpp"

struct RoundsInLoop : Doubling {
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    auto y = call.output<float>(0);
    call.parallel_for(x.size(), 64, [&](std::int64_t begin, std::int64_t end) {
      std::fesetround(FE_UPWARD);
      for (auto i = begin; i < end; ++i) y[i] = 2 * x[i];
    });
  }
};
TENON_OPERATOR(rounds_in_loop, RoundsInLoop)
