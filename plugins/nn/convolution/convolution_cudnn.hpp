// The products of a convolution with cuDNN: deterministic and without TF32, like the CPU's.
#pragma once
#include <optional>

#include "convolution_sizes.hpp"
#include "cudnn.hpp"

namespace convolution {

/// Descriptors of the tensors of one convolution. cuDNN requires at least two spatial axes; a
/// missing one has size 1.
class Described {
 public:
  explicit Described(const Sizes& sizes) {
    const auto& geometry = sizes.geometry;
    const int first =
        geometry.size.at[0] == 1 && geometry.kernel.at[0] == 1 && geometry.pad.at[0] == 0 ? 1 : 0;
    set(data, numbers({sizes.batch, sizes.channels}, geometry.size, first));
    set(output, numbers({sizes.batch, sizes.filters}, geometry.positions, first));
    set(weight, numbers({sizes.filters, sizes.group_channels()}, geometry.kernel, first));
    cudnn::require(cudnn::functions().cudnnSetConvolutionNdDescriptor(
        moved.get(), 3 - first, numbers({}, geometry.pad, first).data(),
        numbers({}, geometry.stride, first).data(), numbers({}, geometry.dilate, first).data(),
        CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    cudnn::require(cudnn::functions().cudnnSetConvolutionGroupCount(
        moved.get(), static_cast<int>(sizes.groups)));
    cudnn::require(cudnn::functions().cudnnSetConvolutionMathType(moved.get(), CUDNN_FMA_MATH));
  }

  cudnn::Tensor data, output;
  cudnn::Filter weight;
  cudnn::Convolution moved;

 private:
  static cudnn::Numbers numbers(std::initializer_list<std::int64_t> begin, const Point& spatial,
                                int first) {
    cudnn::Numbers numbers;
    for (const auto number : begin) numbers.push_back(static_cast<int>(number));
    for (int axis = first; axis < 3; ++axis) numbers.push_back(static_cast<int>(spatial.at[axis]));
    return numbers;
  }
};

/// cuDNN's functions for the product of these tensors, and whether an algorithm is based on
/// transforms, which propagate errors, infinities and NaN to positions whose windows do not contain
/// them.
template <class Tensors>
struct Pass;

/// One of the three products of a convolution. The algorithm is cached while sizes stay the same.
/// Tensors: the operands of the product.
template <class Tensors>
class Product {
 public:
  /// Returns false if cuDNN is missing or has no suitable algorithm: deterministic, within `bytes`
  /// of workspace.
  bool run(const tenon::Call& call, const Sizes& sizes, const Tensors& tensors, void* workspace,
           std::size_t bytes) {
    if (!countable(sizes) || !aligned(tensors) || !cudnn::functions().library) return false;
    const auto handle = cudnn::handle(call);
    const Described described(sizes);
    if (!sizes_ || !(*sizes_ == sizes)) {
      algorithm_ = choose(handle, described, bytes);
      sizes_ = sizes;
    }
    if (!algorithm_) return false;
    const float one = 1, zero = 0;
    const auto status =
        Pass::run(handle, described, *algorithm_, one, zero, tensors, workspace, bytes);
    if (cudnn::refused(status))
      algorithm_.reset();  // the cached algorithm does not support this call after all
    else
      cudnn::require(status);
    return algorithm_.has_value();
  }

 private:
  using Pass = convolution::Pass<Tensors>;
  using Found = typename Pass::Found;
  using Algorithm = decltype(Found::algo);

  /// Alignment that cuDNN assumes by default; slices may start at any address.
  static bool aligned(const Tensors& tensors) {
    const auto& [first, second, third] = tensors;
    const auto address = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data); };
    return (address(first) | address(second) | address(third)) % 16 == 0;
  }

  static bool countable(const Sizes& sizes) {
    const auto limit =
        std::max({sizes.channels * sizes.elements(), sizes.filters * sizes.positions(),
                  sizes.group_channels() * sizes.taps()});
    return sizes.batch > 0 &&
           limit <= std::numeric_limits<int>::max() / std::max(sizes.batch, sizes.filters);
  }

  static std::optional<Algorithm> choose(cudnnHandle_t handle, const Described& described,
                                         std::size_t bytes) {
    std::array<Found, 16> found;
    int count = 0;
    if (Pass::find(handle, described, static_cast<int>(found.size()), &count, found.data()) !=
        CUDNN_STATUS_SUCCESS)
      return {};
    for (const auto& each : std::span(found).first(static_cast<std::size_t>(count))) {
      std::size_t needed = 0;
      if (each.status != CUDNN_STATUS_SUCCESS || each.determinism != CUDNN_DETERMINISTIC ||
          Pass::mixes_windows(each.algo))
        continue;
      if (Pass::workspace(handle, described, each.algo, &needed) == CUDNN_STATUS_SUCCESS &&
          needed <= bytes)
        return each.algo;
    }
    return {};
  }

  std::optional<Sizes> sizes_;
  std::optional<Algorithm> algorithm_;
};

template <>
struct Pass<ForwardTensors> {
  using Found = cudnnConvolutionFwdAlgoPerf_t;
  static bool mixes_windows(cudnnConvolutionFwdAlgo_t algorithm) {
    return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD ||
           algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED ||
           algorithm == CUDNN_CONVOLUTION_FWD_ALGO_FFT ||
           algorithm == CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING;
  }
  static cudnnStatus_t find(cudnnHandle_t handle, const Described& d, int limit, int* count,
                            Found* found) {
    return cudnn::functions().cudnnGetConvolutionForwardAlgorithm_v7(
        handle, d.data.get(), d.weight.get(), d.moved.get(), d.output.get(), limit, count, found);
  }
  static cudnnStatus_t workspace(cudnnHandle_t handle, const Described& d,
                                 cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
    return cudnn::functions().cudnnGetConvolutionForwardWorkspaceSize(
        handle, d.data.get(), d.weight.get(), d.moved.get(), d.output.get(), algorithm, bytes);
  }
  static cudnnStatus_t run(cudnnHandle_t handle, const Described& d,
                           cudnnConvolutionFwdAlgo_t algorithm, const float& one, const float& zero,
                           const ForwardTensors& t, void* workspace, std::size_t bytes) {
    return cudnn::functions().cudnnConvolutionForward(
        handle, &one, d.data.get(), t.data, d.weight.get(), t.weight, d.moved.get(), algorithm,
        workspace, bytes, &zero, d.output.get(), t.output);
  }
};

template <>
struct Pass<DataGradientTensors> {
  using Found = cudnnConvolutionBwdDataAlgoPerf_t;
  static bool mixes_windows(cudnnConvolutionBwdDataAlgo_t algorithm) {
    return algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD ||
           algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED ||
           algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT ||
           algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING;
  }
  static cudnnStatus_t find(cudnnHandle_t handle, const Described& d, int limit, int* count,
                            Found* found) {
    return cudnn::functions().cudnnGetConvolutionBackwardDataAlgorithm_v7(
        handle, d.weight.get(), d.output.get(), d.moved.get(), d.data.get(), limit, count, found);
  }
  static cudnnStatus_t workspace(cudnnHandle_t handle, const Described& d,
                                 cudnnConvolutionBwdDataAlgo_t algorithm, std::size_t* bytes) {
    return cudnn::functions().cudnnGetConvolutionBackwardDataWorkspaceSize(
        handle, d.weight.get(), d.output.get(), d.moved.get(), d.data.get(), algorithm, bytes);
  }
  static cudnnStatus_t run(cudnnHandle_t handle, const Described& d,
                           cudnnConvolutionBwdDataAlgo_t algorithm, const float& one,
                           const float& zero, const DataGradientTensors& t, void* workspace,
                           std::size_t bytes) {
    return cudnn::functions().cudnnConvolutionBackwardData(
        handle, &one, d.weight.get(), t.weight, d.output.get(), t.dy, d.moved.get(), algorithm,
        workspace, bytes, &zero, d.data.get(), t.dx);
  }
};

template <>
struct Pass<WeightGradientTensors> {
  using Found = cudnnConvolutionBwdFilterAlgoPerf_t;
  static bool mixes_windows(cudnnConvolutionBwdFilterAlgo_t algorithm) {
    return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD ||
           algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED ||
           algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT ||
           algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING;
  }
  static cudnnStatus_t find(cudnnHandle_t handle, const Described& d, int limit, int* count,
                            Found* found) {
    return cudnn::functions().cudnnGetConvolutionBackwardFilterAlgorithm_v7(
        handle, d.data.get(), d.output.get(), d.moved.get(), d.weight.get(), limit, count, found);
  }
  static cudnnStatus_t workspace(cudnnHandle_t handle, const Described& d,
                                 cudnnConvolutionBwdFilterAlgo_t algorithm, std::size_t* bytes) {
    return cudnn::functions().cudnnGetConvolutionBackwardFilterWorkspaceSize(
        handle, d.data.get(), d.output.get(), d.moved.get(), d.weight.get(), algorithm, bytes);
  }
  static cudnnStatus_t run(cudnnHandle_t handle, const Described& d,
                           cudnnConvolutionBwdFilterAlgo_t algorithm, const float& one,
                           const float& zero, const WeightGradientTensors& t, void* workspace,
                           std::size_t bytes) {
    return cudnn::functions().cudnnConvolutionBackwardFilter(
        handle, &one, d.data.get(), t.data, d.output.get(), t.dy, d.moved.get(), algorithm,
        workspace, bytes, &zero, d.weight.get(), t.dw);
  }
};

/// Limit of an algorithm's workspace, in bytes.
inline constexpr std::size_t library_workspace = std::size_t{32} << 20;

}  // namespace convolution
