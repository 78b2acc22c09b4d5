// mean_squared_error on the CPU.
#include "mean_squared_error.hpp"

#include "shared/store_each.hpp"
#include "shared/sum.hpp"

namespace {

template <class T, class Value>
void put_each(const tenon::Call& call, tenon::Write write, T* to, std::int64_t n,
              const Value& value) {
  call.parallel_for(n, 16384, [=](std::int64_t begin, std::int64_t end) {
    tenon::wide([=] {
      store_each(write, to + begin, end - begin, [=](std::int64_t i) { return value(begin + i); });
    });
  });
}

}  // namespace

void MeanSquaredError::forward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    const auto n = call.input<T>(0).size();
    const auto loss = call.output<T>(0);
    const auto square = [prediction = call.input<T>(0).data(),
                         target = call.input<T>(1).data()](std::int64_t i) {
      const auto difference = Wide<T>(prediction[i]) - Wide<T>(target[i]);
      return difference * difference;
    };
    if (reduction == Reduction::none)
      put_each(call, call.write(0), loss.data(), n, square);
    else
      store(call.write(0), loss[0], parallel_sum(call, n, square) * weight(n));
  });
}

/// dprediction = 2 (prediction - target) dloss, and dtarget is its negative.
void MeanSquaredError::backward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    const auto n = call.input<T>(0).size();
    for (const int input : {0, 1}) {
      if (call.write(input) == tenon::Write::none) continue;
      const auto scale = static_cast<Wide<T>>((input == 0 ? 2 : -2) * weight(n));
      put_each(call, call.write(input), call.input_grad<T>(input).data(), n,
               [=, prediction = call.input<T>(0).data(), target = call.input<T>(1).data(),
                dy = call.output_grad<T>(0).data(),
                step = reduction == Reduction::none ? 1 : 0](std::int64_t i) {
                 return scale * (Wide<T>(prediction[i]) - Wide<T>(target[i])) *
                        Wide<T>(dy[i * step]);
               });
    }
  });
}

TENON_OPERATOR(mean_squared_error, MeanSquaredError)
