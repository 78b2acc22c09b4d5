// Products of integers and quantized values. Their sums are computed exactly in float64. Where ONNX
// has int32, they then wrap around; where they are scaled, this happens in float32, as in
// onnxruntime.
#include "onnx/operators/channels_last.hpp"
#include "onnx/operators/integer_product.hpp"
#include "onnx/operators/window.hpp"

namespace tenon::onnx {

Operand integer_product(NodeImport& node, const Operand& left, const Operand& right,
                        const Operand& left_zero, const Operand& right_zero) {
  const auto centered = [&](const Operand& x, const Operand& zero) {
    const auto wide = node.cast(x, f64);
    return zero.empty() ? wide : node.add("tenon.sub", std::vector{wide, node.cast(zero, f64)});
  };
  return node.add("tenon.matmul",
                  std::vector{centered(left, left_zero), centered(right, right_zero)});
}

void require_single(NodeImport& node, const Operand& x) {
  const auto shape = node.shape(x);
  node.require_known(shape.known(), "the shape of one of its scales or zero points is unknown");
  node.require(shape.size() == 1, "one of its scales or zero points is not a single number");
}

Operand rescaled(NodeImport& node, const Operand& product, const Operand& left_scale,
                 const Operand& right_scale, const Operand& bias) {
  require_single(node, left_scale);
  const auto factor =
      node.add("tenon.mul", std::vector{node.widened(left_scale), node.widened(right_scale)});
  auto made = node.add("tenon.mul", std::vector{node.cast(product, f32), factor});
  if (!bias.empty()) made = node.add("tenon.add", std::vector{made, node.widened(bias)});
  return node.cast(made, node.dtype(left_scale));
}

// The range is extended to include 0.
DynamicallyQuantized quantize_dynamically(NodeImport& node, const Operand& x) {
  const auto zero = node.scalar(0, x);
  const auto high =
      node.add("tenon.maximum", std::vector{node.add("tenon.max", std::vector{x}), zero});
  const auto low =
      node.add("tenon.minimum", std::vector{node.add("tenon.min", std::vector{x}), zero});
  const auto range = node.add("tenon.sub", std::vector{high, low});
  const auto empty = node.add("tenon.equal", std::vector{range, zero});
  const auto width = node.add("tenon.where", std::vector{empty, node.scalar(255, x), range});
  const auto scale = node.add("tenon.div", std::vector{width, node.scalar(255, x)});
  const auto below =
      node.add("tenon.neg", std::vector{node.add("tenon.div", std::vector{low, scale})});
  const auto point = node.cast(node.add("tenon.round", std::vector{below}), u8);
  return {node.add("tenon.quantize", std::vector{x, scale, point}), scale, point};
}

namespace {

// A scale or zero point: a single one, or one per row.
Operand one_or_by_row(NodeImport& node, std::size_t input, DType dtype) {
  const auto wide = node.cast(node.input(input), dtype);
  const auto shape = node.shape(wide);
  const bool several = !shape.has_rank() || (shape.rank() == 1 && shape[0] != 1);
  return several ? node.add("tenon.reshape", std::vector{wide}, {{"shape", {-1, 1}}}) : wide;
}

// Product of two matrices minus their zero points, of which the left one may have one per row.
Operand centered_product(NodeImport& node, std::size_t left, std::size_t left_zero,
                         std::size_t right, std::size_t right_zero) {
  const auto zero = node.has(left_zero) ? one_or_by_row(node, left_zero, f64) : Operand{};
  return integer_product(node, node.input(left), node.input(right), zero,
                         node.optional_input(right_zero));
}

void matmul_integer(NodeImport& node) {
  node.output(node.cast(node.cast(centered_product(node, 0, 2, 1, 3), i64), i32));
}

// The conversion to the dtype of the last input saturates.
void qlinear_matmul(NodeImport& node) {
  const auto factor = node.add(
      "tenon.mul", std::vector{one_or_by_row(node, 1, f32), node.cast(node.input(4), f32)});
  const auto step = node.add("tenon.div", std::vector{factor, one_or_by_row(node, 6, f32)});
  const auto product = node.cast(centered_product(node, 0, 2, 3, 5), f32);
  const auto rounded =
      node.add("tenon.round", std::vector{node.add("tenon.mul", std::vector{product, step})});
  node.output(node.cast(node.add("tenon.add", std::vector{rounded, one_or_by_row(node, 7, f32)}),
                        node.dtype(node.input(7))));
}

/// Integer convolution. float32 represents sums below 2^24 exactly; if larger ones are possible,
/// the weight, and if necessary the data, is split into 16 times a high part plus a low part.
struct IntegerConvolution {
  IntegerConvolution(NodeImport& at, std::size_t weight_input) : node(at) {
    const auto shape = node.shape(node.input(weight_input));
    node.require_known(shape.known(), "the shape of its weight is unknown");
    node.require(shape.rank() >= 3 && shape.rank() <= 5, "its weight must have 3 to 5 dimensions");
    std::vector<std::int64_t> kernel;
    for (int a = 2; a < shape.rank(); ++a) kernel.push_back(shape[a]);
    if (const auto kernel_shape = node.integers("kernel_shape"))
      node.require(*kernel_shape == kernel, "its kernel_shape does not match its weight");
    spatial = kernel.size();
    attributes = window_of(node, kernel);
    attributes.set("num_filter", shape[0]);
    attributes.set("groups", node.integer("group", 1));
    attributes.set("no_bias", true);
    terms = shape[0] == 0 ? 0 : shape.size() / shape[0];
    node.require(terms <= 65536, "its sums have more than 65536 terms");
  }

  /// Expands [channels] so that it broadcasts to [batch, channels, spatial ...] or to the weight.
  Operand by_channel(const Operand& x, bool of_weight) {
    if (node.rank(x) == 0 || node.shape(x).size() == 1) return x;
    std::vector<std::int64_t> axes;
    for (std::size_t a = 0; a <= spatial; ++a)
      axes.push_back(static_cast<std::int64_t>(of_weight ? a + 1 : a));
    if (!of_weight) axes.erase(axes.begin());
    return node.add("tenon.expand_dims", std::vector{x}, {{"axis", axes}});
  }
  Operand centered(std::size_t input, std::size_t zero, bool of_weight) {
    const auto type = node.dtype(node.input(input));
    node.require(type == u8 || type == i8, "its data and weight must be 8-bit integers");
    auto x = node.cast(node.input(input), f32);
    if (!node.has(zero)) return x;
    return node.add("tenon.sub",
                    std::vector{x, by_channel(node.cast(node.input(zero), f32), of_weight)});
  }
  Operand product(const Operand& x, const Operand& w) {
    return node.cast(
        node.add("tenon.convolution", Importer::Named{{"data", x}, {"weight", w}}, attributes),
        f64);
  }
  std::pair<Operand, Operand> split_high_low(const Operand& x) {
    const auto high =
        node.add("tenon.floor",
                 std::vector{node.add("tenon.mul", std::vector{x, node.scalar(1.0 / 16, x)})});
    return {
        high,
        node.add("tenon.sub",
                 std::vector{x, node.add("tenon.mul", std::vector{high, node.scalar(16, high)})})};
  }
  Operand combine(const Operand& high, const Operand& low) {
    return node.add(
        "tenon.add",
        std::vector{node.add("tenon.mul", std::vector{high, node.scalar(16, high)}), low});
  }
  /// Integers, as float64.
  Operand sums(const Operand& x, const Operand& w) {
    if (terms <= 258) return product(x, w);
    const auto [w_high, w_low] = split_high_low(w);
    if (terms <= 4112) return combine(product(x, w_high), product(x, w_low));
    const auto [x_high, x_low] = split_high_low(x);
    return combine(combine(product(x_high, w_high), product(x_high, w_low)),
                   combine(product(x_low, w_high), product(x_low, w_low)));
  }

  NodeImport& node;
  Attributes attributes{};
  std::size_t spatial = 0;
  std::int64_t terms = 0;
};

void conv_integer(NodeImport& node) {
  IntegerConvolution at(node, 1);
  node.output(
      node.cast(node.cast(at.sums(at.centered(0, 2, false), at.centered(1, 3, true)), i64), i32));
}

// The conversion to the dtype of the last zero point saturates. com.microsoft's operator may have
// the channels of its data last, but not those of its weight.
void qlinear_conv(NodeImport& node) {
  const bool last = !node.node().domain.empty() && node.integer("channels_last", 0) != 0;
  IntegerConvolution at(node, 3);
  auto data = at.centered(0, 2, false);
  if (last) data = channels_to_front(node, data);
  auto sums = at.sums(data, at.centered(3, 5, true));
  if (node.has(8))
    sums = node.add("tenon.add",
                    std::vector{sums, at.by_channel(node.cast(node.input(8), f64), false)});
  const auto factor =
      node.add("tenon.mul", std::vector{node.input(1), at.by_channel(node.input(4), false)});
  const auto step = node.add("tenon.div", std::vector{factor, node.input(6)});
  const auto rounded = node.add(
      "tenon.round", std::vector{node.add("tenon.mul", std::vector{node.cast(sums, f32), step})});
  const auto made =
      node.cast(node.add("tenon.add", std::vector{rounded, node.cast(node.input(7), f32)}),
                node.dtype(node.input(7)));
  node.output(last ? channels_to_back(node, made) : made);
}

void dynamic_quantize_linear(NodeImport& node) {
  const auto made = quantize_dynamically(node, node.input(0));
  node.output(0, made.elements);
  if (node.has_output(1)) node.output(1, made.scale);
  if (node.has_output(2)) node.output(2, made.zero);
}

// Weights of a recurrent layer, [directions, features, rows] with a scale for each direction or for
// each row of it, as ONNX's LSTM has them: float32 [directions, rows, features].
Operand recurrent_weight(NodeImport& node, std::size_t weight, std::size_t scale) {
  const auto along_rows = [&](const Operand& x) {
    const auto shape = node.shape(x);
    node.require_known(shape.known(),
                       "the shape of a scale or zero point of its weights is unknown");
    const auto directions = shape.rank() > 0 ? shape[0] : 1;
    node.require(directions > 0, "a scale or zero point of its weights is empty");
    return node.add("tenon.reshape", std::vector{node.cast(x, f32)},
                    {{"shape", {directions, 1, shape.size() / directions}}});
  };
  auto x = node.cast(node.input(weight), f32);
  if (node.has(scale + 1))
    x = node.add("tenon.sub", std::vector{x, along_rows(node.input(scale + 1))});
  x = node.add("tenon.mul", std::vector{x, along_rows(node.input(scale))});
  return node.add("tenon.transpose", std::vector{x}, {{"axes", {0, 2, 1}}});
}

// Only the weights are rounded to 8 bits: onnxruntime also rounds the data and the hidden state in
// each step, by ranges of their own, which costs precision.
void dynamic_quantize_lstm(NodeImport& node) {
  node.import_as("LSTM",
                 {node.input(0), recurrent_weight(node, 1, 8), recurrent_weight(node, 2, 10),
                  node.optional_input(3), node.optional_input(4), node.optional_input(5),
                  node.optional_input(6), node.optional_input(7)});
}

const Composition quantized_read[] = {
    {"MatMulInteger", matmul_integer},
    {"QLinearMatMul", qlinear_matmul},
    {"DynamicQuantizeLinear", dynamic_quantize_linear},
    {"ConvInteger", conv_integer, 10},
    {"QLinearConv", qlinear_conv, 10},
    {"QLinearConv", qlinear_conv, 1, "com.microsoft"},
    {"DynamicQuantizeLSTM", dynamic_quantize_lstm, 1, "com.microsoft"}};

}  // namespace
}  // namespace tenon::onnx
