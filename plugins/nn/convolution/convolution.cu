// convolution on CUDA: by cuDNN where it was there when this was built and has an algorithm that fits, else by loops.
#include <tenon/gpu/library_workspace.hpp>

#include "convolution.hpp"

#if defined(TENON_HAVE_CUDNN)
#include "convolution_cudnn.hpp"
#else
#include "convolution_no_library.hpp"
#endif
#include "convolution_loops.hpp"
#include "shared/store_sum.hpp"

struct ConvolutionCuda : Convolution {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer&) const { return library_bytes; }
  /// One after the other: the products, and the sums of the gradients of weight and bias.
  std::size_t backward_workspace(const tenon::Infer& io) const {
    const auto sizes = sizes_of(io.input(0).shape, io.output(0).shape);
    return std::max({library_bytes, sizes.weight_sums().bytes<double>(), sizes.bias_sums().bytes<double>()});
  }

  void forward(const tenon::Call& call) {
    if (call.write(0) == tenon::Write::none) return;
    const auto data = call.input<float>("data"), weight = call.input<float>("weight");
    const auto output = call.output<float>(0);
    const float* const bias = call.has_input("bias") ? call.input<float>("bias").data() : nullptr;
    const auto sizes = sizes_of(data.shape(), output.shape());
    if (!by_library<convolution::ForwardTensors>(call, forward_, sizes, {data.data(), weight.data(), output.data()}))
      tenon::gpu::for_each(call, output.size(), convolution::OutputElement{sizes, data.data(), weight.data(), bias, output.data()});
    else if (bias)
      tenon::gpu::for_each(call, output.size(), convolution::AddBias{bias, sizes.filters, sizes.places(), output.data()});
  }

  void backward(const tenon::Call& call) {
    const auto data = call.input<float>("data"), weight = call.input<float>("weight"), dy = call.output_grad<float>(0);
    const auto sizes = sizes_of(data.shape(), dy.shape());
    if (call.write(0) != tenon::Write::none) {
      float* const dx = call.input_grad<float>("data").data();
      if (!by_library<convolution::DataGradientTensors>(call, data_gradient_, sizes, {dy.data(), weight.data(), dx}))
        tenon::gpu::for_each(call, data.size(), convolution::DataGradient{sizes, dy.data(), weight.data(), dx});
    }
    if (call.write(1) != tenon::Write::none) {
      float* const dw = call.input_grad<float>("weight").data();
      if (!by_library<convolution::WeightGradientTensors>(call, weight_gradient_, sizes, {data.data(), dy.data(), dw}))
        sum(call, sizes.weight_sums(), convolution::WeightTerm{sizes, data.data(), dy.data()}, dw);
    }
    if (call.has_input("bias") && call.write(2) != tenon::Write::none)
      sum(call, sizes.bias_sums(), convolution::BiasTerm{sizes, dy.data()}, call.input_grad<float>("bias").data());
  }

 private:
  static constexpr std::size_t library_bytes = tenon::gpu::library_workspace_bytes(convolution::library_workspace);

  convolution::Sizes sizes_of(const tenon::Shape& data, const tenon::Shape& output) const {
    return convolution::Sizes::of(window(data), data, output, groups);
  }

  template <class Tensors>
  static bool by_library(const tenon::Call& call, convolution::Product<Tensors>& product, const convolution::Sizes& sizes,
                         const Tensors& tensors) {
    if (!sizes.way.symmetric()) return false;
    return product.run(call, sizes, tensors, tenon::gpu::library_workspace(call, convolution::library_workspace),
                       convolution::library_workspace);
  }

  template <class Term>
  static void sum(const tenon::Call& call, const BlockSums& sums, const Term& term, float* to) {
    sum_by_blocks(call, sums, term, StoreSum<float>{to, tenon::Write::to}, call.workspace<double>(sums.bytes<double>() / sizeof(double)));
  }

  convolution::Product<convolution::ForwardTensors> forward_;
  convolution::Product<convolution::DataGradientTensors> data_gradient_;
  convolution::Product<convolution::WeightGradientTensors> weight_gradient_;
};
TENON_KERNEL(convolution, cuda, ConvolutionCuda)
