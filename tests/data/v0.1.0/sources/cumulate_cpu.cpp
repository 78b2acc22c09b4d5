#include "cumulate.hpp"

struct CumulateCpu : Cumulate {
  void forward(const tenon::Call& call) {
    const auto x = call.input<float>(0);
    auto y = call.output<float>(0);
    float sum = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = sum = x[i] + decay * sum;
  }

  void backward(const tenon::Call& call) {
    const auto dy = call.output_grad<float>(0);
    auto dx = call.input_grad<float>(0);
    float sum = 0;
    for (auto i = dx.size() - 1; i >= 0; --i) dx[i] = sum = dy[i] + decay * sum;
  }
};
TENON_KERNEL(cumulate, cpu, CumulateCpu)
