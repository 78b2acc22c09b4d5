// mean_squared_error on the CPU.
#include "mean_squared_error.hpp"

#include "shared/store.hpp"
#include "shared/sum.hpp"

namespace {

template <class Body>
void for_each_element(const tenon::Call& call, std::int64_t n, Body&& body) {
  call.parallel_for(n, 16384, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) body(i);
  });
}

}  // namespace

void MeanSquaredError::forward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    const auto prediction = call.input<T>(0), target = call.input<T>(1);
    const auto loss = call.output<T>(0);
    const auto square = [&](std::int64_t i) {
      const auto difference = Wide<T>(prediction[i]) - Wide<T>(target[i]);
      return difference * difference;
    };
    if (reduction == Reduction::none)
      for_each_element(call, prediction.size(), [&](std::int64_t i) { store(call.write(0), loss[i], square(i)); });
    else
      store(call.write(0), loss[0], static_cast<Wide<T>>(parallel_sum(call, prediction.size(), square) * weight(prediction.size())));
  });
}

/// dprediction = 2 (prediction - target) dloss, and dtarget is its negative.
void MeanSquaredError::backward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    const auto prediction = call.input<T>(0), target = call.input<T>(1), dy = call.output_grad<T>(0);
    for (const int input : {0, 1}) {
      if (call.write(input) == tenon::Write::none) continue;
      const auto dx = call.input_grad<T>(input);
      const auto scale = static_cast<Wide<T>>((input == 0 ? 2 : -2) * weight(prediction.size()));
      for_each_element(call, dx.size(), [&](std::int64_t i) {
        const auto upstream = Wide<T>(dy[reduction == Reduction::none ? i : 0]);
        store(call.write(input), dx[i], scale * (Wide<T>(prediction[i]) - Wide<T>(target[i])) * upstream);
      });
    }
  });
}

TENON_OPERATOR(mean_squared_error, MeanSquaredError)
