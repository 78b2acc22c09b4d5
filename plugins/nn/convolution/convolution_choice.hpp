// Tables that choose the algorithm of each pass of a convolution on the CPU. plugins/README.md
// lists them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "../../shared/product/choice.hpp"
#include "../../shared/product/product_choice.hpp"
#include "amx_tiling.hpp"

struct ConvolutionProblem {
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
  windows,
  amx,
  winograd,
  direct_by_filters,
  direct_by_rows,
  direct_by_samples
};
using ConvolutionRow = choice::Row<ConvolutionAlgorithm, ConvolutionProblem>;

/// A chunk of a direct forward pass, as oneDNN would compute it channels-last.
struct StepProblem {
  int axes;
  std::int64_t groups, filters, columns;  ///< columns: of the output's last axis
  bool data_last, output_last;            ///< with a single channel, both layouts are the same
  std::string_view
      implementation;  ///< oneDNN's implementation for channels-last tensors; empty if not queried
};

enum class StepAlgorithm { small_filter, channels_last, blocked };
using StepRow = choice::Row<StepAlgorithm, StepProblem>;

/// A product computed by im2col.
struct Im2colProblem {
  std::int64_t rows;  ///< of the product
  bool bf16, forward, packed, output_last;
};

enum class Im2colAlgorithm { bf16, weights_on_the_left, fma, f32 };
using Im2colRow = choice::Row<Im2colAlgorithm, Im2colProblem>;

namespace convolution_choice {

/// im2col reads the weights once per output position, in their original layout; oneDNN
/// reads them more often and in another layout.
inline bool has_small_output(const ConvolutionProblem& problem) {
  const bool multiplies = problem.bf16 ? problem.processor.bf16 : problem.has_wide_vectors();
  const auto max_positions = problem.processor.amx ? 256 : 64;
  return problem.has_large_weights() && multiplies && problem.samples() > 0 &&
         problem.positions() <= max_positions && problem.positions() <= problem.filters();
}
/// With constant weights, oneDNN reorders them only once and is faster for fewer positions already.
/// Plain tensors occur mostly in training.
inline bool has_small_output_forward(const ConvolutionProblem& problem) {
  const auto max_positions = problem.data_last || problem.output_last ? 32
                             : problem.processor.amx                  ? 128
                                                                      : 32;
  return has_small_output(problem) && problem.positions() <= max_positions;
}

/// The axis that a convolution moves along if all others have one element; -1 if there is no such
/// axis, or if its windows are not contiguous in channels-last data.
inline int only_axis(const Window& window, const tenon::Shape& data, const tenon::Shape& output) {
  int found = -1;
  for (int axis = 0; axis < window.axes; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (data[axis + 2] == 1 && output[axis + 2] == 1 && window.kernel[i] == 1) continue;
    if (found >= 0 || window.dilate[i] != 1) return -1;
    found = axis;
  }
  return found;
}

/// Fewer filters leave the vectors of a product mostly empty: each element is then a sum along its
/// window.
inline constexpr std::int64_t max_summed_filters = 4;

/// oneDNN's vectors are positions of the last axis, or channels.
inline bool fits_windows(const ConvolutionProblem& problem) {
  const auto axis = only_axis(problem.window, problem.data, problem.output);
  if (axis < 0 || problem.groups != 1 || problem.bf16 || !problem.has_wide_vectors() ||
      problem.data.size() == 0 || problem.output.size() == 0)
    return false;
  if (problem.channels() == 1) {
    const bool long_windows = problem.window.kernel[static_cast<std::size_t>(axis)] >= 64;
    return long_windows && (problem.filters() < max_summed_filters
                                ? problem.processor.vectors == product::Vectors::avx512
                                : problem.filters() >= 16);
  }
  return problem.data_last && axis + 1 < problem.window.axes && problem.filters() >= 16;
}

/// If less than a quarter of the tiles' multiplications contribute, oneDNN is faster. Considers a
/// single sample, so that results do not depend on the batch.
inline bool fits_amx(const ConvolutionProblem& problem) {
  if (problem.groups != 1 || problem.window.axes != 2 || !problem.bf16 || !problem.processor.bf16 ||
      !problem.processor.amx)
    return false;
  if (problem.window.dilate[0] != 1 || problem.window.dilate[1] != 1 || problem.data.size() == 0 ||
      problem.output.size() == 0)
    return false;
  return (problem.data_last || problem.channels() == 1) && problem.output_last &&
         AmxTiling(problem.window, problem.data, problem.output).use() >= 0.25;
}

/// Transformed weights are four times as large as the filters, so that few tiles do not amortize
/// reading them. Considers a single sample, too.
inline bool fits_winograd(const ConvolutionProblem& problem) {
  if (problem.groups != 1 || problem.window.axes != 2 || problem.bf16 ||
      !problem.has_wide_vectors() || !problem.data_last || !problem.output_last)
    return false;
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (problem.window.kernel[axis] != 3 || problem.window.stride[axis] != 1 ||
        problem.window.dilate[axis] != 1)
      return false;
  const auto tiles = (problem.output[2] + 3) / 4 * ((problem.output[3] + 3) / 4);
  return problem.channels() % 16 == 0 && problem.filters() % 16 == 0 &&
         std::min(problem.channels(), problem.filters()) >= 32 && tiles >= 32 &&
         problem.channels() * problem.filters() <= 512 * tiles;
}

/// Filters per chunk. With AVX-512, oneDNN uses a slower blocking for fewer than 128.
inline std::int64_t filters_per_chunk(const ConvolutionProblem& problem) {
  return problem.onednn_avx512 ? 128 : 64;
}

inline constexpr std::int64_t min_gradient_filters =
    64;  ///< minimum number of filters per chunk of the weights' gradient
inline bool fits_gradient_by_filters(const ConvolutionProblem& problem) {
  return problem.groups == 1 && problem.samples() > 0 &&
         problem.filters() >= 2 * min_gradient_filters &&
         problem.weights() > problem.data.size() + problem.output.size();
}

inline constexpr ConvolutionRow forward[] = {
    {ConvolutionAlgorithm::im2col, "im2col",
     "weights larger than 4 times data and output, at most 32 output positions (128 for "
     "plain tensors with AMX), not more positions than filters, no groups",
     has_small_output_forward,
     "0.4 (8 positions, 1x1) to 1.4 (16 positions, 3x3) of direct's time with constant weights "
     "(Xeon with AVX-512)",
     "different summation order; padding is multiplied"},
    {ConvolutionAlgorithm::windows, "products of windows",
     "float32, all axes but one have one element, no dilation, no groups; either one channel, at "
     "least 64 taps and at least 16 filters, or fewer than 4 with AVX-512, or channels-last, not "
     "along the last axis and at least 16 filters",
     fits_windows,
     "0.3 (1 filter, 256 taps) to 0.9 (1 channel, 36 filters, 256 taps) of direct's time (EPYC, "
     "Zen 4)",
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
     [](const ConvolutionProblem& problem) {
       return problem.has_large_weights() && problem.filters() % filters_per_chunk(problem) == 0;
     },
     "0.6 (1x1, weights an input) to 1.3 (3x3, 7 x 7 positions) of direct by rows (EPYC, Zen 5)",
     "identical"},
    {ConvolutionAlgorithm::direct_by_rows, "direct by rows", "otherwise",
     [](const ConvolutionProblem&) { return true; }, "", "identical"},
};

inline constexpr ConvolutionRow data_gradient[] = {
    {ConvolutionAlgorithm::im2col, "col2im",
     "weights larger than 4 times data and output, at most 64 output positions (256 with "
     "AMX), not more positions than filters, no groups",
     has_small_output,
     "0.2 (4 positions, 3x3, 512 filters) to 1.3 (64 positions, 3x3, 64 filters) of direct's time "
     "(EPYC, Zen 5)",
     "different summation order"},
    {ConvolutionAlgorithm::direct_by_samples, "direct by samples", "otherwise",
     [](const ConvolutionProblem&) { return true; }, "", "identical"},
};

inline constexpr ConvolutionRow weight_gradient[] = {
    {ConvolutionAlgorithm::im2col, "im2col",
     "weights larger than 4 times data and output, at most 64 output positions (256 with "
     "AMX), not more positions than filters, no groups",
     has_small_output,
     "0.2 (8 positions, 1x1, 2,048 filters) to 1.2 (64 positions, 3x3, 64 filters) of direct's "
     "time (EPYC, Zen 5)",
     "different summation order"},
    {ConvolutionAlgorithm::direct_by_filters, "direct by filters",
     "weights larger than data and output, no groups, at least 128 filters",
     fits_gradient_by_filters,
     "0.8 (4 samples, 3x3) to 1.05 (1 sample, 1x1) of direct by samples (EPYC, Zen 5)",
     "different summation order"},
    {ConvolutionAlgorithm::direct_by_samples, "direct by samples", "otherwise",
     [](const ConvolutionProblem&) { return true; }, "", "identical"},
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

/// Whether a chunk reads the weights in the layout of an earlier one, so that they are reordered
/// once. `slow`: oneDNN has only unoptimized code.
constexpr bool shares_weights(bool slow_if_shared, bool slow_otherwise) {
  return !slow_if_shared || slow_otherwise;
}

inline constexpr std::int64_t max_small_filters = 16;

inline constexpr StepRow step[] = {
    {StepAlgorithm::small_filter, "small-filter loops by AVX2",
     "at most 16 filters, channels-last, two axes, oneDNN's code would use AVX2",
     [](const StepProblem& problem) {
       return problem.implementation == "jit:avx2" && problem.data_last && problem.output_last &&
              problem.axes == 2 && problem.groups == 1 && problem.filters <= max_small_filters;
     },
     "0.5 (3 filters) to 0.8 (16 filters) of oneDNN's time, 1.0 with 3 channels (EPYC, Zen 5)",
     "different summation order"},
    {StepAlgorithm::channels_last, "oneDNN, channels-last",
     "channels-last, at least 4 columns, oneDNN has optimized code",
     [](const StepProblem& problem) {
       return !problem.implementation.empty() && !problem.implementation.starts_with("ref");
     },
     "0.25 (3x3, 32 groups of 2 filters) to 1.0 (more than 16 filters, no groups) of the time in "
     "oneDNN's own layout (Xeon with AMX)",
     "different summation order"},
    {StepAlgorithm::blocked, "oneDNN, its own layout", "otherwise",
     [](const StepProblem&) { return true; }, "", "identical"},
};

// ---- products of im2col ----------------------------------------------------------------------

/// For few rows, weights are not reused often enough to amortize the bf16x3 split.
inline constexpr Im2colRow im2col[] = {
    {Im2colAlgorithm::bf16, "bf16", "factors rounded to bfloat16",
     [](const Im2colProblem& problem) { return problem.bf16; },
     "0.5 (constant weights) to 0.7 (weights an input) of FMA's time (EPYC, Zen 5)",
     "rounded factors"},
    {Im2colAlgorithm::weights_on_the_left, "FMA, weights on the left",
     "forward, plain output, unpacked weights, fewer than 64 rows",
     [](const Im2colProblem& problem) {
       return problem.forward && !problem.packed && !problem.output_last && problem.rows < 64;
     },
     "0.8 (16 positions, 3x3, 512 filters) to 2.3 (1 position, 1x1, 64 filters) of FMA's time "
     "(Xeon with AMX)",
     "FMA"},
    {Im2colAlgorithm::fma, "FMA", "fewer than 64 rows",
     [](const Im2colProblem& problem) { return problem.rows < 64; },
     "0.8 (36 positions, 3x3, gradient of data) to 1.6 (32 positions, 1x1, constant weights) of "
     "the bf16x3 split's time, 1.0 below 32 rows (Xeon with AMX)",
     "FMA"},
    {Im2colAlgorithm::f32, "as products of float32", "otherwise",
     [](const Im2colProblem&) { return true; }, "", "as for matrix products"},
};

}  // namespace convolution_choice
