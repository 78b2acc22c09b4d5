// convolution on the CPU, with a kernel that caches oneDNN's primitives between calls.
#include "convolution.hpp"

#include "convolution_f64.hpp"
#include "prepared_weights.hpp"

TENON_OPERATOR(convolution, Convolution)

/// `rounded`: the type to which factors are rounded.
template <onednn::Type rounded>
struct ConvolutionIn : Convolution {
  void prepare(tenon::Prepare& io) const {
    if (io.backward() || !io.is_constant("weight")) return;
    prepack_weights(
        io, ConvolutionKernel(window(io.input("data").shape), forward_shape(io, rounded), groups));
  }

  std::string algorithm(const tenon::Infer& io) const {
    return ConvolutionKernel(window(io.input("data").shape), forward_shape(io, rounded), groups)
        .forward_algorithm();
  }
  std::string backward_algorithm(const tenon::Infer& io) const {
    const ConvolutionShape shape{
        io.input("data").shape, io.output(0).shape, io.has_input("bias"), {}, {}, rounded};
    const ConvolutionKernel kernel(window(shape.data), shape, groups);
    return "for data " + kernel.data_gradient_algorithm() + "; for weight " +
           kernel.weight_gradient_algorithm();
  }

  void forward(const tenon::Call& call) {
    const float* const bias = call.has_input("bias") ? call.input<float>("bias").data() : nullptr;
    kernel_for(forward_shape(call, rounded))
        .forward(call, call.input<float>("data").data(), call.input<float>("weight").data(), bias,
                 call.output<float>(0).data(), prepacked_weights(call), [](auto...) {});
  }

  void backward(const tenon::Call& call) {
    const auto data = call.input<float>("data"), weight = call.input<float>("weight");
    const auto dy = call.output_grad<float>(0);
    const bool data_grad = call.write(0) != tenon::Write::none,
               weight_grad = call.write(1) != tenon::Write::none;
    const bool bias_grad = call.has_input("bias") && call.write(2) != tenon::Write::none;
    auto& kernel = kernel_for({data.shape(), dy.shape(), call.has_input("bias"), {}, {}, rounded});
    if (data_grad)
      kernel.backward_data(call, dy.data(), weight.data(), call.input_grad<float>("data").data());
    if (weight_grad || bias_grad)
      kernel.backward_weights(call, data.data(), dy.data(),
                              weight_grad ? call.input_grad<float>("weight").data() : nullptr,
                              bias_grad ? call.input_grad<float>("bias").data() : nullptr);
  }

 private:
  ConvolutionKernel& kernel_for(const ConvolutionShape& shape) {
    return kernels_.of(shape, [&] { return ConvolutionKernel(window(shape.data), shape, groups); });
  }

  ConvolutionKernels kernels_;
};

struct ConvolutionCpu : ConvolutionIn<onednn::Type::f32> {
  using InF32 = ConvolutionIn<onednn::Type::f32>;

  void prepare(tenon::Prepare& io) const {
    if (io.input("data").dtype == tenon::f32) InF32::prepare(io);
  }
  std::string algorithm(const tenon::Infer& io) const {
    return is_f64(io) ? DoubleConvolution::name : InF32::algorithm(io);
  }
  std::string backward_algorithm(const tenon::Infer& io) const {
    return is_f64(io) ? DoubleConvolution::name : InF32::backward_algorithm(io);
  }

  void forward(const tenon::Call& call) {
    if (call.input_type(0).dtype == tenon::f32) return InF32::forward(call);
    const double* const bias = call.has_input("bias") ? call.input<double>("bias").data() : nullptr;
    loops(call.input_type(0).shape, call.output_type(0).shape)
        .output(call, call.input<double>("data").data(), call.input<double>("weight").data(), bias,
                call.output<double>(0).data(), call.channels_last("data"));
  }

  void backward(const tenon::Call& call) {
    if (call.input_type(0).dtype == tenon::f32) return InF32::backward(call);
    const auto data = call.input<double>("data"), dy = call.output_grad<double>(0);
    const auto products = loops(data.shape(), dy.shape());
    if (call.write(0) != tenon::Write::none)
      products.data_gradient(call, dy.data(), call.input<double>("weight").data(),
                             call.input_grad<double>("data").data());
    if (call.write(1) != tenon::Write::none)
      products.weight_gradient(call, data.data(), dy.data(),
                               call.input_grad<double>("weight").data());
    if (call.has_input("bias") && call.write(2) != tenon::Write::none)
      sum_filter_bias(call, dy, call.input_grad<double>("bias").data());
  }

 private:
  static bool is_f64(const tenon::Infer& io) { return io.input("data").dtype == tenon::f64; }
  DoubleConvolution loops(const tenon::Shape& data, const tenon::Shape& output) const {
    return {window(data), data, output, groups};
  }
};
TENON_KERNEL(convolution, cpu, ConvolutionCpu)

struct ConvolutionInBf16 : ConvolutionIn<onednn::Type::bf16> {
  static constexpr int priority = 1;
  bool supports(const tenon::Infer& types) const { return is_for_bf16(types); }
};
TENON_KERNEL_VARIANT(convolution, cpu, ConvolutionInBf16)
