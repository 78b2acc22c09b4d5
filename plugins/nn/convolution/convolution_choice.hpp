// Tables that choose the algorithm of each pass of a convolution on the CPU. plugins/README.md
// lists them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "../../shared/product/choice.hpp"
#include "../../shared/product/product_choice.hpp"
#include "amx_tiling.hpp"

struct ConvolutionCase {
  Window window;
  tenon::Shape data, output;
  std::int64_t groups = 1;
  bool data_last = false, output_last = false;  ///< channels-last
  bool bf16 = false;                            ///< factors are rounded to bfloat16
  product::Processor processor;
  bool onednn_avx512 = false;  ///< oneDNN has AVX-512 code on this processor

  std::int64_t samples() const { return data[0]; }
  std::int64_t channels() const { return data[1]; }
  std::int64_t filters() const { return output[1]; }
  std::int64_t positions() const {
    return output.size() / filters();
  }  ///< output positions of all samples
  std::int64_t weights() const {
    auto count = filters() * (channels() / groups);
    for (int axis = 0; axis < window.axes; ++axis)
      count *= window.kernel[static_cast<std::size_t>(axis)];
    return count;
  }
  /// Whether the weights are by far the largest tensor; each output position reads all of them.
  bool has_large_weights() const {
    return groups == 1 && weights() > 4 * (data.size() + output.size());
  }
  bool has_wide_vectors() const { return processor.vectors != product::Vectors::scalar; }
};

enum class ConvolutionAlgorithm {
  im2col,
  amx,
  winograd,
  direct_by_filters,
  direct_by_rows,
  direct_by_samples
};
using ConvolutionRow = choice::Row<ConvolutionAlgorithm, ConvolutionCase>;

/// A chunk of a direct forward pass, as oneDNN would compute it channels-last.
struct StepCase {
  int axes;
  std::int64_t groups, filters, columns;  ///< columns: of the output's last axis
  bool data_last, output_last;            ///< with a single channel, both layouts are the same
  std::string_view
      implementation;  ///< oneDNN's implementation for channels-last tensors; empty if not queried
};

enum class StepAlgorithm { small_filter, channels_last, blocked };
using StepRow = choice::Row<StepAlgorithm, StepCase>;

/// A product computed by im2col.
struct Im2colCase {
  std::int64_t rows;  ///< of the product
  bool bf16, forward, packed, output_last;
};

enum class Im2colAlgorithm { bf16, weights_on_the_left, fma, f32 };
using Im2colRow = choice::Row<Im2colAlgorithm, Im2colCase>;

namespace convolution_choice {

/// im2col reads the weights once per output position, in their original layout; oneDNN
/// reads them more often and in another layout.
inline bool has_small_output(const ConvolutionCase& of) {
  const bool multiplies = of.bf16 ? of.processor.bf16 : of.has_wide_vectors();
  const auto max_positions = of.processor.amx ? 256 : 64;
  return of.has_large_weights() && multiplies && of.samples() > 0 &&
         of.positions() <= max_positions && of.positions() <= of.filters();
}
/// With constant weights, oneDNN reorders them only once and is faster for fewer positions already.
/// Plain tensors occur mostly in training.
inline bool has_small_output_forward(const ConvolutionCase& of) {
  const auto max_positions = of.data_last || of.output_last ? 32 : of.processor.amx ? 128 : 32;
  return has_small_output(of) && of.positions() <= max_positions;
}

/// If less than a quarter of the tiles' multiplications contribute, oneDNN is faster. Considers a
/// single sample, so that results do not depend on the batch.
inline bool fits_amx(const ConvolutionCase& of) {
  if (of.groups != 1 || of.window.axes != 2 || !of.bf16 || !of.processor.bf16 || !of.processor.amx)
    return false;
  if (of.window.dilate[0] != 1 || of.window.dilate[1] != 1 || of.data.size() == 0 ||
      of.output.size() == 0)
    return false;
  return (of.data_last || of.channels() == 1) && of.output_last &&
         AmxTiling(of.window, of.data, of.output).use() >= 0.25;
}

/// Transformed weights are four times as large as the filters, so that few tiles do not amortize
/// reading them. Considers a single sample, too.
inline bool fits_winograd(const ConvolutionCase& of) {
  if (of.groups != 1 || of.window.axes != 2 || of.bf16 || !of.has_wide_vectors() || !of.data_last ||
      !of.output_last)
    return false;
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (of.window.kernel[axis] != 3 || of.window.stride[axis] != 1 || of.window.dilate[axis] != 1)
      return false;
  const auto tiles = (of.output[2] + 3) / 4 * ((of.output[3] + 3) / 4);
  return of.channels() % 16 == 0 && of.filters() % 16 == 0 &&
         std::min(of.channels(), of.filters()) >= 32 && tiles >= 32 &&
         of.channels() * of.filters() <= 512 * tiles;
}

/// Filters per chunk. With AVX-512, oneDNN uses a slower blocking for fewer than 128.
inline std::int64_t filters_per_chunk(const ConvolutionCase& of) {
  return of.onednn_avx512 ? 128 : 64;
}

inline constexpr std::int64_t min_gradient_filters =
    64;  ///< minimum number of filters per chunk of the weights' gradient
inline bool fits_gradient_by_filters(const ConvolutionCase& of) {
  return of.groups == 1 && of.samples() > 0 && of.filters() >= 2 * min_gradient_filters &&
         of.weights() > of.data.size() + of.output.size();
}

inline constexpr ConvolutionRow forward[] = {
    {ConvolutionAlgorithm::im2col, "im2col",
     "weights larger than 4 times data and output, at most 32 output positions (128 for "
     "plain tensors with AMX), not more positions than filters, no groups",
     has_small_output_forward,
     "0.4 (8 positions, 1x1) to 1.4 (16 positions, 3x3) of direct's time with constant weights "
     "(Xeon with AVX-512)",
     "different summation order; padding is multiplied"},
    {ConvolutionAlgorithm::amx, "implicit GEMM by AMX",
     "bfloat16, channels-last, two axes, no dilation, no groups, at least a quarter of the "
     "tiles' multiplications needed",
     fits_amx, "ResNet-18 in 0.22 of float32's time (Xeon with AMX)",
     "different summation order; padding is multiplied"},
    {ConvolutionAlgorithm::winograd, "Winograd F(4x4, 3x3)",
     "float32, channels-last, 3x3 filters, stride 1, no dilation, no groups; channels and "
     "filters are multiples of 16 and at least 32; per sample at least 32 tiles, and "
     "channels x filters at most 512 x tiles",
     fits_winograd, "0.6 of direct's time (Xeon with AVX-512)", "about twice the rounding error"},
    {ConvolutionAlgorithm::direct_by_filters, "direct by filters",
     "weights larger than 4 times data and output, no groups, number of filters a multiple "
     "of 64 (128 if oneDNN uses AVX-512)",
     [](const ConvolutionCase& of) {
       return of.has_large_weights() && of.filters() % filters_per_chunk(of) == 0;
     },
     "not recorded", "identical"},
    {ConvolutionAlgorithm::direct_by_rows, "direct by rows", "otherwise",
     [](const ConvolutionCase&) { return true; }, "", "identical"},
};

inline constexpr ConvolutionRow data_gradient[] = {
    {ConvolutionAlgorithm::im2col, "col2im",
     "weights larger than 4 times data and output, at most 64 output positions (256 with "
     "AMX), not more positions than filters, no groups",
     has_small_output, "not recorded", "different summation order"},
    {ConvolutionAlgorithm::direct_by_samples, "direct by samples", "otherwise",
     [](const ConvolutionCase&) { return true; }, "", "identical"},
};

inline constexpr ConvolutionRow weight_gradient[] = {
    {ConvolutionAlgorithm::im2col, "im2col",
     "weights larger than 4 times data and output, at most 64 output positions (256 with "
     "AMX), not more positions than filters, no groups",
     has_small_output, "not recorded", "different summation order"},
    {ConvolutionAlgorithm::direct_by_filters, "direct by filters",
     "weights larger than data and output, no groups, at least 128 filters",
     fits_gradient_by_filters, "not recorded", "different summation order"},
    {ConvolutionAlgorithm::direct_by_samples, "direct by samples", "otherwise",
     [](const ConvolutionCase&) { return true; }, "", "identical"},
};

// ---- chunks of a direct convolution ----------------------------------------------------------

/// Rows of fewer than four positions are too short for oneDNN's channels-last loops.
constexpr bool is_narrow(std::int64_t columns) {
  return columns < 4;
}
/// Whether to query oneDNN for channels-last code.
constexpr bool prefers_channels_last(bool data_last, bool output_last, std::int64_t columns) {
  return (data_last || output_last) && !is_narrow(columns);
}
/// oneDNN prefers blocked channels in these cases, but reports that only for training primitives.
constexpr bool prefers_training(std::int64_t filters, std::int64_t columns) {
  return is_narrow(columns) || filters <= 16;
}

inline constexpr std::int64_t max_small_filters = 16;

inline constexpr StepRow step[] = {
    {StepAlgorithm::small_filter, "small-filter loops by AVX2",
     "at most 16 filters, channels-last, two axes, oneDNN's code would use AVX2",
     [](const StepCase& of) {
       return of.implementation == "jit:avx2" && of.data_last && of.output_last && of.axes == 2 &&
              of.groups == 1 && of.filters <= max_small_filters;
     },
     "not recorded", "different summation order"},
    {StepAlgorithm::channels_last, "oneDNN, channels-last",
     "channels-last, at least 4 columns, oneDNN has optimized code",
     [](const StepCase& of) {
       return !of.implementation.empty() && !of.implementation.starts_with("ref");
     },
     "no tensor is reordered", "different summation order"},
    {StepAlgorithm::blocked, "oneDNN, its own layout", "otherwise",
     [](const StepCase&) { return true; }, "", "identical"},
};

// ---- products of im2col ----------------------------------------------------------------------

/// For few rows, weights are not reused often enough to amortize the bf16x3 split.
inline constexpr Im2colRow im2col[] = {
    {Im2colAlgorithm::bf16, "bf16", "factors rounded to bfloat16",
     [](const Im2colCase& of) { return of.bf16; }, "not recorded", "rounded factors"},
    {Im2colAlgorithm::weights_on_the_left, "FMA, weights on the left",
     "forward, plain output, unpacked weights, fewer than 64 rows",
     [](const Im2colCase& of) {
       return of.forward && !of.packed && !of.output_last && of.rows < 64;
     },
     "weights are read once", "FMA"},
    {Im2colAlgorithm::fma, "FMA", "fewer than 64 rows",
     [](const Im2colCase& of) { return of.rows < 64; }, "no bf16x3 split", "FMA"},
    {Im2colAlgorithm::f32, "as products of float32", "otherwise",
     [](const Im2colCase&) { return true; }, "", "as for matrix products"},
};

}  // namespace convolution_choice
