// Windows, mel filter banks and short-time Fourier transforms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "onnx/dtype.hpp"
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

DType output_dtype(NodeImport& node) {
  const auto* element = element_type(static_cast<std::int32_t>(node.integer("output_datatype", 1)));
  node.require(element != nullptr && element->dtype != unknown_dtype,
               "its output_datatype is not supported by Tenon");
  return element->dtype;
}

Operand times(NodeImport& node, const Operand& x, double factor) {
  return node.add("tenon.mul", std::vector{x, node.scalar(factor, x)});
}

// A sum of cosines, the k-th with k periods, in float64; evaluated at import if the size is known.
void window(NodeImport& node, const std::vector<double>& factors) {
  auto size = node.input(0);
  const auto shape = node.shape(size);
  if (shape.has_rank() && shape.rank() == 1)
    size = node.add("tenon.reshape", std::vector{size}, {{"shape", std::vector<std::int64_t>{}}});
  if (size.known()) node.require(*node.known_number(0) <= 1e8, "its window is too large");
  const auto dtype = output_dtype(node);
  auto periods = node.cast(size, f64);
  if (node.integer("periodic", 1) == 0)
    periods = node.add("tenon.sub", std::vector{periods, node.scalar(1, periods)});
  const auto zero = node.scalar(0, size), step = node.scalar(1, size);
  const auto indices = node.cast(node.add("tenon.range", std::vector{zero, size, step}), f64);
  const auto turns =
      times(node, node.add("tenon.div", std::vector{indices, periods}), 2 * std::numbers::pi);
  auto total =
      node.add("tenon.add", std::vector{times(node, turns, 0), node.scalar(factors[0], turns)});
  for (std::size_t k = 1; k < factors.size(); ++k) {
    const auto wave =
        node.add("tenon.cos", std::vector{times(node, turns, static_cast<double>(k))});
    total = node.add("tenon.add", std::vector{total, times(node, wave, factors[k])});
  }
  node.output(node.cast(total, dtype));
}

void hann(NodeImport& node) {
  window(node, {0.5, -0.5});
}
void hamming(NodeImport& node) {
  window(node, {25.0 / 46, -21.0 / 46});
}
void blackman(NodeImport& node) {
  window(node, {0.42, -0.5, 0.08});
}

// Triangular filters over the bins of a spectrum, with corners at equal distances on the mel scale.
void mel_weights(NodeImport& node) {
  for (std::size_t i = 0; i < 5; ++i)
    node.require(node.has(i), fmt::format("its input {} is missing", i));
  const double bands = *node.known_number(0), length = *node.known_number(1),
               rate = *node.known_number(2);
  const double lowest = *node.known_number(3), highest = *node.known_number(4);
  node.require(
      bands >= 1 && bands <= 65536 && length >= 0 && length <= 1 << 24 && bands * length <= 1 << 27,
      "its matrix is too large");
  node.require(rate >= 1 && std::isfinite(rate) && lowest >= 0 && highest >= lowest &&
                   std::isfinite(highest),
               "its frequencies must be positive and in order");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const auto count = static_cast<std::int64_t>(bands),
             rows = static_cast<std::int64_t>(length) / 2 + 1;
  const double step = (mel(highest) - mel(lowest)) / (bands + 2);
  std::vector<std::int64_t> corners;
  for (std::int64_t i = 0; i < count + 2; ++i) {
    const double hertz =
        700 * (std::pow(10, (static_cast<double>(i) * step + mel(lowest)) / 2595) - 1);
    corners.push_back(static_cast<std::int64_t>(std::floor((length + 1) * hertz / rate)));
    node.require(corners.back() <= rows, "its upper_edge_hertz is above half of the sample rate");
  }
  node.charge_bytes(4 * rows * count);
  auto made = Tensor::zeros(f32, {rows, count});
  const auto set = [&](std::int64_t row, std::int64_t band, double value) {
    if (row < rows)
      static_cast<float*>(made.data())[row * count + band] = static_cast<float>(value);
  };
  for (std::int64_t band = 0; band < count; ++band) {
    const auto at = corners.begin() + band;
    if (at[0] == at[1]) set(at[1], band, 1);
    for (auto row = at[0]; at[0] != at[1] && row <= at[1]; ++row)
      set(row, band, static_cast<double>(row - at[0]) / static_cast<double>(at[1] - at[0]));
    for (auto row = at[1]; row < at[2]; ++row)
      set(row, band, static_cast<double>(at[2] - row) / static_cast<double>(at[2] - at[1]));
  }
  node.output(node.cast(node.constant(made), output_dtype(node)));
}

// Gathers all frames and transforms them at once: [batch, samples, 1 or 2] to [batch, frames, bins,
// 2].
void stft(NodeImport& node) {
  const auto signal = node.input(0), taper = node.optional_input(2);
  const auto shape = node.shape(signal);
  node.require(!shape.has_rank() || shape.rank() == 3,
               "its signal must be [batch, samples, 1 or 2]");
  node.require_known(shape.has_rank() && shape[1] != unknown && shape[2] != unknown,
                     "the number of its samples is unknown");
  node.require(shape[2] == 1 || shape[2] == 2, "its signal must be [batch, samples, 1 or 2]");
  const double step = node.known_number(1).value_or(0);
  double length = node.known_number(3).value_or(0);
  if (!taper.empty()) {
    const auto window_shape = node.shape(taper);
    node.require_known(window_shape.known(), "the size of its window is unknown");
    node.require(window_shape.rank() == 1 &&
                     (!node.has(3) || static_cast<double>(window_shape[0]) == length),
                 "its window must be [frame_length]");
    length = static_cast<double>(window_shape[0]);
  }
  node.require(
      step >= 1 && step <= 1e9 && length >= 1 && length <= static_cast<double>(shape[1]),
      "its frame_length must be from 1 to the number of samples, and its frame_step at least 1");
  const auto size = static_cast<std::int64_t>(length), distance = static_cast<std::int64_t>(step);
  const auto frames = (shape[1] - size) / distance + 1;
  const auto begins = node.add(
      "tenon.reshape",
      std::vector{node.add("tenon.mul",
                           std::vector{node.arange(frames), node.constant(std::vector{distance})})},
      {{"shape", {frames, std::int64_t{1}}}});
  const auto indices = node.add("tenon.add", std::vector{begins, node.arange(size)});
  auto cut = node.add("tenon.gather", std::vector{signal, indices}, {{"axis", 1}});
  if (!taper.empty())
    cut = node.add("tenon.mul", std::vector{cut, node.add("tenon.expand_dims", std::vector{taper},
                                                          {{"axis", {1}}})});
  const bool onesided = node.integer("onesided", 1) != 0;
  node.require(!onesided || shape[2] == 1, "its signal is complex, but onesided needs a real one");
  node.output(node.add("tenon.dft", std::vector{cut}, {{"axis", 2}, {"onesided", onesided}}));
}

const Composition spectral_read[] = {{"HannWindow", hann, 17},
                                     {"HammingWindow", hamming, 17},
                                     {"BlackmanWindow", blackman, 17},
                                     {"MelWeightMatrix", mel_weights, 17},
                                     {"STFT", stft, 17}};

}  // namespace
}  // namespace tenon::onnx
