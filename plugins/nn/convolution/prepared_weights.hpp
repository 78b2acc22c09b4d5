// Shapes of a convolution in calls and in prepare(), and the packing of constant weights.
#pragma once
#include <string>

#include "convolution_kernel.hpp"
#include "shared/kernel_cache.hpp"

using ConvolutionKernels = KernelCache<ConvolutionShape, ConvolutionKernel>;

/// The shape of a forward call, or of one to prepare for. Tensors are named as in
/// Convolution::describe().
inline ConvolutionShape forward_shape(const tenon::Call& call, onednn::Type rounded) {
  return {call.input_type(0).shape,
          call.output_type(0).shape,
          call.has_input("bias"),
          onednn::layout(call.channels_last("data")),
          onednn::layout(call.output_channels_last(0)),
          rounded};
}
inline ConvolutionShape forward_shape(const tenon::Prepare& io, onednn::Type rounded) {
  return {io.input("data").shape,
          io.output(0).shape,
          io.has_input("bias"),
          onednn::layout(io.channels_last("data")),
          onednn::layout(io.output_channels_last(0)),
          rounded};
}

inline ConvolutionShape forward_shape(const tenon::Infer& io, onednn::Type rounded) {
  return {io.input("data").shape,
          io.output(0).shape,
          io.has_input("bias"),
          onednn::layout(io.channels_last("data")),
          onednn::layout(io.output_channels_last(0)),
          rounded};
}

/// Whether a bfloat16 kernel is requested and this processor supports it.
inline bool is_for_bf16(const tenon::Infer& types) {
  return types.precision() == tenon::bf16 && types.input("data").dtype == tenon::f32 &&
         onednn::multiplies_bf16();
}

/// Packs the weights in the layouts of the forward pass; slot i holds layout i.
inline void prepack_weights(tenon::Prepare& io, ConvolutionKernel kernel) {
  const auto prepack_with = [&](const auto& products) {
    io.prepack(0, "weight", "weight of a convolution, " + products.packing(),
               products.packed_bytes(),
               [&](void* memory) { products.pack(io.constant<float>("weight").data(), memory); });
  };
  if (kernel.with_own_forward(prepack_with)) return;
  auto* const pass = kernel.forward_pass();
  for (std::size_t i = 0; pass && i < pass->layouts(); ++i)
    if (pass->needs_layout(i))
      io.prepack(static_cast<int>(i), "weight", "weight of a convolution, " + pass->layout_text(i),
                 pass->layout_bytes(i), [&](void* memory) {
                   pass->lay_out(i, io.constant<float>("weight").data(), memory);
                 });
}

inline auto prepacked_weights(const tenon::Call& call) {
  return [&call](std::size_t i) { return call.prepacked(static_cast<int>(i)); };
}
