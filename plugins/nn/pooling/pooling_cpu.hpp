// The CPU kernel that the pooling operators share.
#pragma once
#include <optional>

#include "pool.hpp"
#include "pooling_kernel.hpp"

/// The CPU kernel of a pooling operator that has pooling() and window(data). It keeps oneDNN's primitives for the last shape.
template <class Operator>
struct PoolingCpu : Operator {
  void forward(const tenon::Call& call) {
    const auto data = call.input<float>(0);
    const auto output = call.output<float>(0);
    kernel_for(data.shape(), output.shape()).forward(call, data.data(), output.data());
  }

  void backward(const tenon::Call& call) {
    if (call.write(0) == tenon::Write::none) return;
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    auto& kernel = kernel_for(dx.shape(), dy.shape());
    if (this->pooling() == Pooling::max)
      kernel.backward_max(call, call.input<float>(0).data(), dy.data(), dx.data());
    else
      kernel.backward_average(call, dy.data(), dx.data());
  }

 private:
  static dnnl::algorithm algorithm(Pooling pooling) {
    return pooling == Pooling::max       ? dnnl::algorithm::pooling_max
           : pooling == Pooling::average ? dnnl::algorithm::pooling_avg_include_padding
                                         : dnnl::algorithm::pooling_avg_exclude_padding;
  }

  PoolingKernel& kernel_for(const tenon::Shape& data, const tenon::Shape& output) {
    if (!kernel_ || data != shape_) {
      kernel_.emplace(algorithm(this->pooling()), this->window(data), data, output);
      shape_ = data;
    }
    return *kernel_;
  }

  std::optional<PoolingKernel> kernel_;
  tenon::Shape shape_;
};
