// convolution on CUDA.
#include "convolution.hpp"
#include "convolution_on_device.hpp"

struct ConvolutionCuda : Convolution {
  static constexpr bool capturable = true;

  bool supports(const tenon::Infer& types) const { return types.input("data").dtype == tenon::f32; }
  std::size_t workspace(const tenon::Infer&) const { return products_.workspace(); }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return products_.backward_workspace(sizes_of(io.input(0).shape, io.output(0).shape));
  }

  void forward(const tenon::Call& call) {
    if (call.write(0) == tenon::Write::none) return;
    const auto data = call.input<float>("data");
    const auto output = call.output<float>(0);
    const float* const bias = call.has_input("bias") ? call.input<float>("bias").data() : nullptr;
    products_.forward(call, sizes_of(data.shape(), output.shape()), data.data(),
                      call.input<float>("weight").data(), bias, output.data());
  }

  void backward(const tenon::Call& call) {
    const auto data = call.input<float>("data"), dy = call.output_grad<float>(0);
    const auto sizes = sizes_of(data.shape(), dy.shape());
    if (call.write(0) != tenon::Write::none)
      products_.data_gradient(call, sizes, dy.data(), call.input<float>("weight").data(),
                              call.input_grad<float>("data").data());
    if (call.write(1) != tenon::Write::none)
      products_.weight_gradient(call, sizes, data.data(), dy.data(),
                                call.input_grad<float>("weight").data());
    if (call.has_input("bias") && call.write(2) != tenon::Write::none)
      products_.sum(call, sizes.bias_sums(), convolution::BiasTerm{sizes, dy.data()},
                    call.input_grad<float>("bias").data());
  }

 private:
  convolution::Sizes sizes_of(const tenon::Shape& data, const tenon::Shape& output) const {
    return convolution::Sizes::of(window(data), data, output, groups);
  }

  convolution::ProductsOnDevice products_;
};
TENON_KERNEL(convolution, cuda, ConvolutionCuda)
