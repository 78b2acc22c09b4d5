// A convolution with its epilogue in one pass: addend and activation are applied while a chunk of
// the output is in the cache.
#include "../../shared/activation.hpp"
#include "../../shared/fusing_rules.hpp"
#include "convolution.hpp"
#include "prepared_weights.hpp"

struct FusedConvolution : ConvolutionLayer<WithActivation> {
  static constexpr void describe(auto& op) {
    op.doc(
        "activation(convolution(data, weight, bias) + addend); bit-identical to convolution, add "
        "and the activation's operator in sequence; inference on the CPU only, not differentiable");
    op.types({tenon::f32});
    describe_tensors(op);
    op.input("addend", "same shape as output; added before the activation; default: 0").optional();
    describe_parameters(op);
    describe_activation(op);
    TENON_FUSE(op, "convolution", "fused_convolution");
    op.prefers_channels_last("data", "addend", "output");
    op.example(
        {{"data", {1, 2, 5, 5}}, {"weight", {3, 2, 3, 3}}, {"bias", {3}}, {"addend", {1, 3, 3, 3}}},
        {{"num_filter", 3}, {"kernel", {3, 3}}, {"activation", "relu"}});
  }

  void infer(tenon::Infer& io) const {
    ConvolutionLayer::infer(io);
    if (io.has_input("addend")) io.set_input("addend", io.output(0).shape);
  }
};
TENON_OPERATOR(fused_convolution, FusedConvolution)

/// `rounded`: the type to which factors are rounded.
template <onednn::Type rounded>
struct FusedConvolutionIn : FusedConvolution {
  void prepare(tenon::Prepare& io) const {
    if (io.backward() || !io.is_constant("weight")) return;
    prepack_weights(
        io, ConvolutionKernel(window(io.input("data").shape), forward_shape(io, rounded), groups));
  }

  std::string algorithm(const tenon::Infer& io) const {
    return ConvolutionKernel(window(io.input("data").shape), forward_shape(io, rounded), groups)
        .forward_algorithm();
  }

  void forward(const tenon::Call& call) {
    const auto shape = forward_shape(call, rounded);
    auto& kernel =
        kernels_.of(shape, [&] { return ConvolutionKernel(window(shape.data), shape, groups); });
    const float* const bias = call.has_input("bias") ? call.input<float>("bias").data() : nullptr;
    const float* const addend =
        call.has_input("addend") ? call.input<float>("addend").data() : nullptr;
    float* const output = call.output<float>(0).data();
    kernel.forward(
        call, call.input<float>("data").data(), call.input<float>("weight").data(), bias, output,
        prepacked_weights(call),
        [&](std::int64_t first, std::int64_t count, std::int64_t rows = 1, std::int64_t step = 0) {
          activate(output + first, addend ? addend + first : nullptr, Rows{rows, count, step});
        });
  }

 private:
  ConvolutionKernels kernels_;
};

struct FusedConvolutionCpu : FusedConvolutionIn<onednn::Type::f32> {};
TENON_KERNEL(fused_convolution, cpu, FusedConvolutionCpu)

struct FusedConvolutionInBf16 : FusedConvolutionIn<onednn::Type::bf16> {
  static constexpr int priority = 1;
  bool supports(const tenon::Infer& types) const { return is_for_bf16(types); }
};
TENON_KERNEL_VARIANT(fused_convolution, cpu, FusedConvolutionInBf16)
