// convolution on the CPU, by a kernel that keeps oneDNN's primitives between calls.
#include "convolution.hpp"

#include "convolution_kernel.hpp"

TENON_OPERATOR(convolution, Convolution)

struct ConvolutionCpu : Convolution {
  void forward(const tenon::Call& call) {
    const auto data = call.input<float>("data"), weight = call.input<float>("weight");
    const auto output = call.output<float>(0);
    const float* const bias = call.has_input("bias") ? call.input<float>("bias").data() : nullptr;
    kernel_for(data.shape(), output.shape(), bias != nullptr).forward(call, data.data(), weight.data(), bias, output.data());
  }

  void backward(const tenon::Call& call) {
    const auto data = call.input<float>("data"), weight = call.input<float>("weight");
    const auto dy = call.output_grad<float>(0);
    const bool data_grad = call.write(0) != tenon::Write::none, weight_grad = call.write(1) != tenon::Write::none;
    const bool bias_grad = call.has_input("bias") && call.write(2) != tenon::Write::none;
    auto& kernel = kernel_for(data.shape(), dy.shape(), call.has_input("bias"));
    if (data_grad) kernel.backward_data(call, dy.data(), weight.data(), call.input_grad<float>("data").data());
    if (weight_grad || bias_grad)
      kernel.backward_weights(call, data.data(), dy.data(), weight_grad ? call.input_grad<float>("weight").data() : nullptr,
                              bias_grad ? call.input_grad<float>("bias").data() : nullptr);
  }

 private:
  ConvolutionKernel& kernel_for(const tenon::Shape& data, const tenon::Shape& output, bool bias) {
    if (!kernel_ || data != shape_ || bias != bias_) {
      kernel_.emplace(window(), data, output, groups, bias);
      shape_ = data;
      bias_ = bias;
    }
    return *kernel_;
  }

  std::optional<ConvolutionKernel> kernel_;
  tenon::Shape shape_;
  bool bias_ = false;
};
TENON_KERNEL(convolution, cpu, ConvolutionCpu)
