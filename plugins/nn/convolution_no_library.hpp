// What stands for cuDNN where it is not there: nothing, so that a convolution's own loops do all.
#pragma once
#include "convolution_sizes.hpp"

namespace convolution {

struct ForwardPass {
  struct Tensors {
    const float *data, *weight;
    float* output;
  };
};
struct DataPass {
  struct Tensors {
    const float *dy, *weight;
    float* dx;
  };
};
struct WeightPass {
  struct Tensors {
    const float *data, *dy;
    float* dw;
  };
};

template <class Pass>
struct Product {
  bool run(const tenon::Call&, const Sizes&, const typename Pass::Tensors&, void*, std::size_t) { return false; }
};

inline constexpr std::size_t library_workspace = 0;

}  // namespace convolution
