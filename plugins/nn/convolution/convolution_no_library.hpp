// Stands in for cuDNN if it is unavailable: does nothing, so that the built-in loops are used.
#pragma once
#include "convolution_sizes.hpp"

namespace convolution {

template <class Tensors>
struct Product {
  bool run(const tenon::Call&, const Sizes&, const Tensors&, void*, std::size_t) { return false; }
};

inline constexpr std::size_t library_workspace = 0;

}  // namespace convolution
