// The kernels that one node's convolution keeps: its object serves several plans, each with shapes of its own.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "convolution_kernel.hpp"

class ConvolutionKernels {
 public:
  /// The kernel for a shape; make() gives it where it is not kept yet. The one that was not used for the longest time makes room.
  template <class Make>
  ConvolutionKernel& of(const ConvolutionShape& shape, Make&& make) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Entry& entry) { return entry.shape == shape; });
    if (found != kept_.end()) {
      std::rotate(kept_.begin(), found, found + 1);
    } else {
      auto made = std::make_unique<ConvolutionKernel>(make());
      if (kept_.size() == most) kept_.pop_back();
      kept_.insert(kept_.begin(), Entry{shape, std::move(made)});
    }
    return *kept_.front().kernel;
  }

 private:
  static constexpr std::size_t most = 8;
  struct Entry {
    ConvolutionShape shape;
    std::unique_ptr<ConvolutionKernel> kernel;
  };
  std::vector<Entry> kept_;  // the last used one first
};

inline onednn::Layout layout_of(bool channels_last) {
  return channels_last ? onednn::Layout::channels_last : onednn::Layout::plain;
}

/// What a call computes in forward, and what one will that is prepared. Tensors are named as in Convolution::describe().
inline ConvolutionShape forward_shape(const tenon::Call& call) {
  return {call.input_type(0).shape, call.output_type(0).shape, call.has_input("bias"), layout_of(call.channels_last("data")),
          layout_of(call.output_channels_last(0))};
}
inline ConvolutionShape forward_shape(const tenon::Prepare& io) {
  return {io.input("data").shape, io.output(0).shape, io.has_input("bias"), layout_of(io.channels_last("data")),
          layout_of(io.output_channels_last(0))};
}

/// Keeps the weights as the forward pass wants them; slot i holds layout i.
inline void keep_weights(tenon::Prepare& io, ConvolutionPass& pass) {
  for (std::size_t i = 0; i < pass.layouts(); ++i)
    if (pass.needs_layout(i))
      io.keep(static_cast<int>(i), "weight", "weight of a convolution, " + pass.layout_text(i), pass.layout_bytes(i),
              [&](void* memory) { pass.lay_out(i, io.constant<float>("weight").data(), memory); });
}

inline auto kept_weights(const tenon::Call& call) {
  return [&call](std::size_t i) { return call.kept(static_cast<int>(i)); };
}
