// The three products of a convolution on CUDA: with cuDNN if this was built with it and it has a
// suitable algorithm, otherwise with loops.
#pragma once
#include <tenon/gpu/library_workspace.hpp>

#if defined(TENON_HAVE_CUDNN)
#include "convolution_cudnn.hpp"
#else
#include "convolution_no_library.hpp"
#endif
#include "convolution_loops.hpp"
#include "shared/store_sum.hpp"

namespace convolution {

/// A member of an operator's object. Each call provides a workspace of workspace() bytes for
/// forward, or backward_workspace() for backward.
class ProductsOnDevice {
 public:
  static std::size_t workspace() { return library_bytes; }
  /// The products and the sums of the weight and bias gradients use it one after the other.
  static std::size_t backward_workspace(const Sizes& sizes) {
    return std::max(
        {library_bytes, sizes.weight_sums().bytes<double>(), sizes.bias_sums().bytes<double>()});
  }

  /// bias: may be null.
  void forward(const tenon::Call& call, const Sizes& sizes, const float* data, const float* weight,
               const float* bias, float* output) {
    const auto count = sizes.batch * sizes.filters * sizes.positions();
    if (!by_library<ForwardTensors>(call, forward_, sizes, {data, weight, output}))
      tenon::gpu::for_each(call, count, OutputElement{sizes, data, weight, bias, output});
    else if (bias)
      tenon::gpu::for_each(call, count, AddBias{bias, sizes.filters, sizes.positions(), output});
  }
  void data_gradient(const tenon::Call& call, const Sizes& sizes, const float* dy,
                     const float* weight, float* dx) {
    if (!by_library<DataGradientTensors>(call, data_gradient_, sizes, {dy, weight, dx}))
      tenon::gpu::for_each(call, sizes.batch * sizes.channels * sizes.elements(),
                           DataGradient{sizes, dy, weight, dx});
  }
  void weight_gradient(const tenon::Call& call, const Sizes& sizes, const float* data,
                       const float* dy, float* dw) {
    if (!by_library<WeightGradientTensors>(call, weight_gradient_, sizes, {data, dy, dw}))
      sum(call, sizes.weight_sums(), WeightTerm{sizes, data, dy}, dw);
  }

  /// to[i] = the sum of term(i, t) over all t.
  template <class Term>
  static void sum(const tenon::Call& call, const BlockSums& sums, const Term& term, float* to) {
    sum_by_blocks(call, sums, term, StoreSum<float>{to, tenon::Write::to},
                  call.workspace<double>(sums.bytes<double>() / sizeof(double)));
  }

 private:
  static constexpr std::size_t library_bytes =
      tenon::gpu::library_workspace_bytes(library_workspace);

  template <class Tensors>
  static bool by_library(const tenon::Call& call, Product<Tensors>& product, const Sizes& sizes,
                         const Tensors& tensors) {
    if (!sizes.geometry.symmetric()) return false;
    return product.run(call, sizes, tensors, tenon::gpu::library_workspace(call, library_workspace),
                       library_workspace);
  }

  Product<ForwardTensors> forward_;
  Product<DataGradientTensors> data_gradient_;
  Product<WeightGradientTensors> weight_gradient_;
};

}  // namespace convolution
