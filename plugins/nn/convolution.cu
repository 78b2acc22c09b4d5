// convolution on CUDA.
#include "convolution.hpp"
#include "convolution_loops.hpp"

struct ConvolutionCuda : Convolution {
  static constexpr bool capturable = true;

  std::size_t backward_workspace(const tenon::Infer& io) const {
    const auto sizes = sizes_of(io.input(0).shape, io.output(0).shape);
    return std::max(sizes.weight_sums().bytes<double>(), sizes.bias_sums().bytes<double>());
  }

  void forward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto data = call.input<float>("data");
    const auto output = call.output<float>(0);
    const float* const bias = call.has_input("bias") ? call.input<float>("bias").data() : nullptr;
    const convolution::OutputElement body{sizes_of(data.shape(), output.shape()), data.data(), call.input<float>("weight").data(), bias,
                                          output.data()};
    tenon::gpu::for_each(call, output.size(), body);
  }

  void backward(const tenon::Call& call) const {
    const auto data = call.input<float>("data"), weight = call.input<float>("weight"), dy = call.output_grad<float>(0);
    const auto sizes = sizes_of(data.shape(), dy.shape());
    if (call.write(0) != tenon::Write::none)
      tenon::gpu::for_each(call, data.size(),
                           convolution::DataGradient{sizes, dy.data(), weight.data(), call.input_grad<float>("data").data()});
    if (call.write(1) != tenon::Write::none) sum(call, sizes.weight_sums(), convolution::WeightTerm{sizes, data.data(), dy.data()}, 1);
    if (call.has_input("bias") && call.write(2) != tenon::Write::none)
      sum(call, sizes.bias_sums(), convolution::BiasTerm{sizes, dy.data()}, 2);
  }

 private:
  convolution::Sizes sizes_of(const tenon::Shape& data, const tenon::Shape& output) const {
    return convolution::Sizes::of(window(), data, output, groups);
  }

  template <class Term>
  static void sum(const tenon::Call& call, const BlockSums& sums, const Term& term, int input) {
    sum_by_blocks(call, sums, term, StoreSum<float>{call.input_grad<float>(input).data(), call.write(input)},
                  call.workspace<double>(sums.bytes<double>() / sizeof(double)));
  }
};
TENON_KERNEL(convolution, cuda, ConvolutionCuda)
