// conv_transpose on the CPU, with the kernel of the corresponding convolution.
#include "conv_transpose.hpp"

#include "convolution_f64.hpp"
#include "convolution_kernel.hpp"
#include "separate_windows.hpp"
#include "shared/kernel_cache.hpp"

TENON_OPERATOR(conv_transpose, ConvTranspose)

struct ConvTransposeCpu : ConvTranspose {
  /// Gradients of convolutions are plain tensors.
  bool supports(const tenon::Infer& io) const {
    return !io.channels_last("data") ||
           (io.input("data").dtype == tenon::f32 &&
            has_separate_windows(io.input("data").shape, io.output(0).shape));
  }

  std::string algorithm(const tenon::Infer& io) const {
    if (io.input("data").dtype == tenon::f64) return DoubleConvolution::name;
    return has_separate_windows(io.input("data").shape, io.output(0).shape)
               ? "products of separate windows: kernel and stride are equal"
               : kernel_for(io).data_gradient_algorithm();
  }
  std::string backward_algorithm(const tenon::Infer& io) const {
    if (io.input("data").dtype == tenon::f64) return DoubleConvolution::name;
    auto kernel = kernel_for(io);
    return "for data " + kernel.forward_algorithm() + "; for weight " +
           kernel.weight_gradient_algorithm();
  }

  void forward(const tenon::Call& call) {
    if (call.input_type(0).dtype == tenon::f64) return forward_f64(call);
    const auto data = call.input<float>("data");
    const auto output = call.output<float>(0);
    if (has_separate_windows(data.shape(), output.shape()))
      return SeparateWindows(window(data.shape()), data.shape(), output.shape(),
                             call.channels_last("data"))
          .forward(call, data.data(), call.input<float>("weight").data(),
                   call.has_input("bias") ? call.input<float>("bias").data() : nullptr,
                   output.data());
    kernel_for(data.shape(), output.shape())
        .backward_data(call, data.data(), call.input<float>("weight").data(), output.data());
    if (call.has_input("bias")) add_bias(call, call.input<float>("bias").data(), output);
  }

  void backward(const tenon::Call& call) {
    if (call.input_type(0).dtype == tenon::f64) return backward_f64(call);
    const auto data = call.input<float>("data"), weight = call.input<float>("weight"),
               dy = call.output_grad<float>(0);
    auto& kernel = kernel_for(data.shape(), dy.shape());
    if (call.write(0) != tenon::Write::none) {
      const auto prepacked = [](std::size_t) -> const void* { return nullptr; };
      const auto nothing = [](auto...) {};
      kernel.forward(call, dy.data(), weight.data(), nullptr, call.input_grad<float>("data").data(),
                     prepacked, nothing);
    }
    if (call.write(1) != tenon::Write::none)
      kernel.backward_weights(call, dy.data(), data.data(), call.input_grad<float>("weight").data(),
                              nullptr);
    if (call.has_input("bias") && call.write(2) != tenon::Write::none)
      sum_bias(call, dy, call.input_grad<float>("bias").data());
  }

 private:
  bool has_separate_windows(const tenon::Shape& data, const tenon::Shape& output) const {
    return SeparateWindows::fits(window(data), data, output, groups);
  }

  DoubleConvolution loops(const tenon::Shape& data, const tenon::Shape& output) const {
    return {window(data), output, data, groups};
  }

  void forward_f64(const tenon::Call& call) const {
    const auto data = call.input<double>("data");
    const auto output = call.output<double>(0);
    loops(data.shape(), output.shape())
        .data_gradient(call, data.data(), call.input<double>("weight").data(), output.data());
    if (call.has_input("bias")) add_filter_bias(call, call.input<double>("bias").data(), output);
  }

  void backward_f64(const tenon::Call& call) const {
    const auto data = call.input<double>("data"), dy = call.output_grad<double>(0);
    const auto products = loops(data.shape(), dy.shape());
    if (call.write(0) != tenon::Write::none)
      products.output(call, dy.data(), call.input<double>("weight").data(), nullptr,
                      call.input_grad<double>("data").data());
    if (call.write(1) != tenon::Write::none)
      products.weight_gradient(call, dy.data(), data.data(),
                               call.input_grad<double>("weight").data());
    if (call.has_input("bias") && call.write(2) != tenon::Write::none)
      sum_filter_bias(call, dy, call.input_grad<double>("bias").data());
  }

  ConvolutionKernel kernel_for(const tenon::Infer& io) const {
    const auto data = io.input("data").shape;
    return ConvolutionKernel(window(data), {io.output(0).shape, data}, groups);
  }
  ConvolutionKernel& kernel_for(const tenon::Shape& data, const tenon::Shape& output) {
    const ConvolutionShape shape{output, data};
    return kernels_.of(shape, [&] { return ConvolutionKernel(window(data), shape, groups); });
  }

  static void add_bias(const tenon::Call& call, const float* bias,
                       const tenon::View<float>& output) {
    if (output.size() == 0) return;
    const auto filters = output.dim(1), planes = output.dim(0) * filters,
               size = output.size() / planes;
    call.parallel_for(planes, 1 + 16384 / size, [&](std::int64_t begin, std::int64_t end) {
      for (auto plane = begin; plane < end; ++plane) {
        float* const to = output.data() + plane * size;
        const float value = bias[plane % filters];
        for (std::int64_t i = 0; i < size; ++i) to[i] += value;
      }
    });
  }

  static void sum_bias(const tenon::Call& call, const tenon::View<const float>& dy, float* to) {
    const auto filters = dy.dim(1),
               size = dy.size() / std::max<std::int64_t>(dy.dim(0) * filters, 1);
    call.parallel_for(filters, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto filter = begin; filter < end; ++filter) {
        double sum = 0;
        for (std::int64_t sample = 0; sample < dy.dim(0); ++sample) {
          const float* const from = dy.data() + (sample * filters + filter) * size;
          for (std::int64_t i = 0; i < size; ++i) sum += from[i];
        }
        to[filter] = static_cast<float>(sum);
      }
    });
  }

  KernelCache<ConvolutionShape, ConvolutionKernel> kernels_;
};
TENON_KERNEL(conv_transpose, cpu, ConvTransposeCpu)
