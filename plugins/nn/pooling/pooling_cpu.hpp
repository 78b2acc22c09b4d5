// The CPU kernel of the pooling operators.
#pragma once
#include <string>

#include "max_of_windows.hpp"
#include "pool.hpp"
#include "pooling_choice.hpp"
#include "pooling_kernel.hpp"
#include "pooling_loops.hpp"
#include "shared/kernel_cache.hpp"

/// The CPU kernel of a pooling operator with pooling() and window(data).
template <class Operator>
struct PoolingCpu : Operator {
  std::string algorithm(const tenon::Infer& io) const {
    return choice::text_of(choose(io.input(0), io.output(0)));
  }
  std::string backward_algorithm(const tenon::Infer& io) const { return algorithm(io); }

  void forward(const tenon::Call& call) {
    const auto chosen = algorithm_for(call);
    const bool indices = call.outputs() > 1 && call.write(1) != tenon::Write::none,
               all = chosen == PoolingAlgorithm::loops;
    if (all || indices) forward_by_loops(call, all && call.write(0) != tenon::Write::none, indices);
    if (all || call.write(0) == tenon::Write::none) return;
    const auto data = call.input<float>(0);
    const auto output = call.output<float>(0);
    const auto layout = layout_of(call);
    const auto window = this->window(data.shape());
    if (chosen == PoolingAlgorithm::sliding_maximum)
      return MaxOfWindows(window, data.shape(), output.shape(),
                          layout == onednn::Layout::channels_last)
          .run(call, data.data(), output.data());
    kernel_for({data.shape(), output.shape(), layout}).forward(call, data.data(), output.data());
  }

  void backward(const tenon::Call& call) {
    if (call.write(0) == tenon::Write::none) return;
    const auto chosen = algorithm_for(call);
    if (!call.has_output_grad(0) || chosen == PoolingAlgorithm::loops)
      return backward_by_loops(call);
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    const auto window = this->window(dx.shape());
    if (chosen == PoolingAlgorithm::sliding_maximum)
      return MaxOfWindows(window, dx.shape(), dy.shape(), false)
          .run_back(call, call.input<float>(0).data(), dy.data(), dx.data());
    kernel_for({dx.shape(), dy.shape()}).backward(call, dy.data(), dx.data());
  }

 private:
  const PoolingRow& choose(const tenon::TensorType& data, const tenon::TensorType& output) const {
    const auto window = this->window(data.shape);
    return choice::first_of<pooling_choices>(PoolingProblem{
        data.dtype == tenon::f32, this->pooling() == Pooling::max,
        is_plain(window, data.shape, output.shape), MaxOfWindows::fits(window, data.shape)});
  }
  PoolingAlgorithm algorithm_for(const tenon::Call& call) const {
    return choose(call.input_type(0), call.output_type(0)).algorithm;
  }

  void forward_by_loops(const tenon::Call& call, bool outputs, bool indices) const {
    const auto data = call.input_type(0), output = call.output_type(0);
    const PoolingLoops loops(this->window(data.shape), data.shape, output.shape,
                             layout_of(call) == onednn::Layout::channels_last);
    tenon::visit<tenon::floating + tenon::Types{tenon::i8, tenon::u8}>(data.dtype, [&]<class T>() {
      const T* const from = call.input<T>(0).data();
      T* const to = outputs ? call.output<T>(0).data() : nullptr;
      if constexpr (requires { this->return_indices; }) {
        loops.max_pool(call, from, to, indices ? call.output<std::int64_t>(1).data() : nullptr,
                       this->column_major);
      } else if (to && this->pooling() == Pooling::max) {
        loops.max_pool(call, from, to, nullptr, false);
      } else if constexpr (!std::is_integral_v<T>) {
        if (to) loops.average(call, from, to, this->pooling() == Pooling::inside);
      }
    });
  }

  void backward_by_loops(const tenon::Call& call) const {
    const auto data = call.input_type(0), output = call.output_type(0);
    const PoolingLoops loops(this->window(data.shape), data.shape, output.shape, false);
    tenon::visit<tenon::floating>(data.dtype, [&]<class T>() {
      T* const dx = call.input_grad<T>(0).data();
      if (!call.has_output_grad(0)) return void(std::fill_n(dx, data.shape.size(), T(0)));
      const T* const dy = call.output_grad<T>(0).data();
      if (this->pooling() == Pooling::max)
        loops.max_pool_back(call, call.input<T>(0).data(), dy, dx);
      else
        loops.average_back(call, dy, dx, this->pooling() == Pooling::inside);
    });
  }

  /// Output has the layout of data. If its spatial axes have one element, both layouts are the same
  /// and cannot be distinguished.
  static onednn::Layout layout_of(const tenon::Call& call) {
    const auto output = call.output_type(0).shape;
    const bool last = call.channels_last(0),
               distinguishable = output[1] > 1 && output.size() > output[0] * output[1];
    if (distinguishable && last != call.output_channels_last(0))
      throw tenon::Error("data and output have different memory layouts: needs the same for both");
    return onednn::layout(last);
  }

  PoolingKernel& kernel_for(const PoolingShape& shape) {
    const auto algorithm = this->pooling() == Pooling::average
                               ? dnnl::algorithm::pooling_avg_include_padding
                               : dnnl::algorithm::pooling_avg_exclude_padding;
    return kernels_.of(shape,
                       [&] { return PoolingKernel(algorithm, this->window(shape.data), shape); });
  }

  KernelCache<PoolingShape, PoolingKernel> kernels_;
};
