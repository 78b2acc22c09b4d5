// conv_transpose on CUDA, with the products of the corresponding convolution.
#include "conv_transpose.hpp"
#include "convolution_on_device.hpp"

namespace {

/// Summand t of the gradient of a filter's bias.
struct FilterTerm {
  std::int64_t filters, size;
  const float* dy;

  TENON_DEVICE double operator()(std::int64_t filter, std::int64_t t) const {
    return dy[(t / size * filters + filter) * size + t % size];
  }
};

}  // namespace

struct ConvTransposeCuda : ConvTranspose {
  static constexpr bool capturable = true;

  bool supports(const tenon::Infer& types) const { return types.input("data").dtype == tenon::f32; }
  std::size_t workspace(const tenon::Infer&) const { return products_.workspace(); }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    const auto sizes = sizes_of(io.input(0).shape, io.output(0).shape);
    return std::max(products_.backward_workspace(sizes), bias_sums(sizes).bytes<double>());
  }

  void forward(const tenon::Call& call) {
    if (call.write(0) == tenon::Write::none) return;
    const auto data = call.input<float>("data");
    const auto output = call.output<float>(0);
    const auto sizes = sizes_of(data.shape(), output.shape());
    products_.data_gradient(call, sizes, data.data(), call.input<float>("weight").data(),
                            output.data());
    if (call.has_input("bias"))
      tenon::gpu::for_each(call, output.size(),
                           convolution::AddBias{call.input<float>("bias").data(), sizes.channels,
                                                sizes.elements(), output.data()});
  }

  void backward(const tenon::Call& call) {
    const auto data = call.input<float>("data"), dy = call.output_grad<float>(0);
    const auto sizes = sizes_of(data.shape(), dy.shape());
    if (call.write(0) != tenon::Write::none)
      products_.forward(call, sizes, dy.data(), call.input<float>("weight").data(), nullptr,
                        call.input_grad<float>("data").data());
    if (call.write(1) != tenon::Write::none)
      products_.weight_gradient(call, sizes, dy.data(), data.data(),
                                call.input_grad<float>("weight").data());
    if (call.has_input("bias") && call.write(2) != tenon::Write::none)
      products_.sum(call, bias_sums(sizes), FilterTerm{sizes.channels, sizes.elements(), dy.data()},
                    call.input_grad<float>("bias").data());
  }

 private:
  convolution::Sizes sizes_of(const tenon::Shape& data, const tenon::Shape& output) const {
    return convolution::Sizes::of(window(data), output, data, groups);
  }
  static BlockSums bias_sums(const convolution::Sizes& sizes) {
    return BlockSums::of(sizes.channels, sizes.batch * sizes.elements());
  }

  convolution::ProductsOnDevice products_;
};
TENON_KERNEL(conv_transpose, cuda, ConvTransposeCuda)
