// com.microsoft: the fused operators that onnxruntime's optimizer generates. Half-precision inputs
// are computed in float32 and rounded once.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/operators/window.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;
constexpr const char* microsoft = "com.microsoft";

Operand one_of(NodeImport& node, const char* op, const Operand& x,
               const Attributes& attributes = {}) {
  return node.add(op, std::vector{x}, attributes);
}
Operand two_of(NodeImport& node, const char* op, const Operand& left, const Operand& right) {
  return node.add(op, std::vector{left, right});
}
Operand wide_input(NodeImport& node, std::size_t i) {
  return node.widened(node.input(i));
}
Operand factored(NodeImport& node, const Operand& x, double factor) {
  return factor == 1 ? x : two_of(node, "tenon.mul", x, node.scalar(factor, x));
}
Operand plus(NodeImport& node, const Operand& x, std::size_t i) {
  return node.has(i) ? two_of(node, "tenon.add", x, wide_input(node, i)) : x;
}
/// Sets output i, with the first input's dtype.
void narrow(NodeImport& node, std::size_t i, const Operand& x, std::size_t like = 0) {
  node.output(i, node.cast(x, node.dtype(node.input(like))));
}

// ---- activations

Operand activated(NodeImport& node, const Operand& x, const std::string& name,
                  const std::vector<double>& with) {
  const auto number = [&](std::size_t i, double otherwise) {
    return i < with.size() ? with[i] : otherwise;
  };
  if (name.empty()) return x;
  if (name == "Relu") return one_of(node, "tenon.relu", x);
  if (name == "Sigmoid") return one_of(node, "tenon.sigmoid", x);
  if (name == "Tanh") return one_of(node, "tenon.tanh", x);
  if (name == "LeakyRelu") return one_of(node, "tenon.leaky_relu", x, {{"slope", number(0, 0.01)}});
  if (name == "HardSigmoid")
    return one_of(node, "tenon.hard_sigmoid", x,
                  {{"alpha", number(0, 0.2)}, {"beta", number(1, 0.5)}});
  node.require(name == "Clip" && with.size() == 2,
               fmt::format("its activation '{}' is unknown", name));
  const auto above = two_of(node, "tenon.maximum", x, node.scalar(with[0], x));
  return two_of(node, "tenon.minimum", above, node.scalar(with[1], x));
}

void gelu(NodeImport& node) {
  narrow(node, 0, one_of(node, "tenon.gelu", wide_input(node, 0)));
}
void bias_gelu(NodeImport& node) {
  narrow(node, 0, one_of(node, "tenon.gelu", plus(node, wide_input(node, 0), 1)));
}
void fast_gelu(NodeImport& node) {
  narrow(node, 0, one_of(node, "tenon.gelu_tanh", plus(node, wide_input(node, 0), 1)));
}
void quick_gelu(NodeImport& node) {
  narrow(node, 0,
         one_of(node, "tenon.swish", wide_input(node, 0),
                {{"alpha", node.real("alpha", 1.7020000219345093)}}));
}
void bias_split_gelu(NodeImport& node) {
  const auto chunks = node.add_all("tenon.split", std::vector{plus(node, wide_input(node, 0), 1)},
                                   {{"sections", 2}, {"axis", -1}});
  narrow(node, 0, two_of(node, "tenon.mul", chunks[0], one_of(node, "tenon.gelu", chunks[1])));
}

// ---- normalization

Operand mean_of_squares(NodeImport& node, const Operand& x) {
  return one_of(node, "tenon.mean", two_of(node, "tenon.mul", x, x),
                {{"axis", {-1}}, {"keepdims", true}});
}
Operand inverse_root(NodeImport& node, const Operand& x, double epsilon) {
  return one_of(node, "tenon.rsqrt", two_of(node, "tenon.add", x, node.scalar(epsilon, x)));
}

void normalized(NodeImport& node, const Operand& x, std::size_t gamma, std::size_t beta,
                double epsilon) {
  node.require(!node.is_read(1) && !node.is_read(2),
               "its mean and deviation outputs are used, which only training needs");
  node.require(epsilon > 0, "its epsilon must be positive");
  const auto scale = wide_input(node, gamma);
  auto offset = node.widened(node.optional_input(beta));
  if (offset.empty()) offset = factored(node, scale, 0);
  narrow(
      node, 0,
      node.add("tenon.layer_norm", Importer::Named{{"data", x}, {"gamma", scale}, {"beta", offset}},
               {{"epsilon", epsilon}}));
}

void skip_layer_norm(NodeImport& node) {
  const auto x = plus(node, two_of(node, "tenon.add", wide_input(node, 0), wide_input(node, 1)), 4);
  normalized(node, x, 2, 3, node.real("epsilon", 1e-12));
  if (node.is_read(3)) narrow(node, 3, x);
}

void skip_rms_norm(NodeImport& node) {
  node.require(!node.is_read(1) && !node.is_read(2),
               "its deviation output is used, which only training needs");
  const auto x = plus(node, two_of(node, "tenon.add", wide_input(node, 0), wide_input(node, 1)), 3);
  narrow(node, 0,
         node.add("tenon.rms_norm", Importer::Named{{"data", x}, {"gamma", wide_input(node, 2)}},
                  {{"epsilon", node.real("epsilon", 1e-12)}}));
  if (node.is_read(3)) narrow(node, 3, x);
}

void rms_norm(NodeImport& node) {
  node.require(node.integer("stash_type", 1) == 1, "its stash_type must be float32");
  const auto x = wide_input(node, 0);
  const auto epsilon = node.real("epsilon", 1e-5);
  const auto axis = node.integer("axis", -1);
  narrow(node, 0,
         node.add("tenon.rms_norm", Importer::Named{{"data", x}, {"gamma", wide_input(node, 1)}},
                  {{"epsilon", epsilon}, {"axis", axis}}));
  if (!node.is_read(1)) return;
  node.require(node.axis(axis, node.rank(x)) == node.rank(x) - 1,
               "its deviation output is used, but it normalizes over several axes");
  node.output(1, inverse_root(node, mean_of_squares(node, x), epsilon));
}

/// Tables and other tensors of a layer of embeddings, as float32.
struct Embeddings {
  Operand words, positions, segments, gamma, beta, position_ids;
};

/// Number of unmasked tokens of each sample.
Operand visible_tokens(NodeImport& node, const Shape& ids) {
  if (node.has(7))
    return node.cast(one_of(node, "tenon.sum", node.cast(node.input(7), i32), {{"axis", {1}}}),
                     i32);
  node.require_known(ids.has_rank() && ids[0] != unknown,
                     "its mask_index output is used, but the number of samples is unknown");
  return node.add("tenon.broadcast_to", std::vector{node.constant(Tensor::zeros(i32, {1}))},
                  {{"shape", {ids[0]}}});
}

// Adds word, position and segment embeddings, then normalizes.
void embed(NodeImport& node, const Embeddings& from, DType type) {
  const auto ids = node.input(0);
  const auto shape = node.shape(ids);
  auto total = two_of(node, "tenon.gather", from.words, ids);
  auto positions = from.position_ids;
  if (positions.empty()) {
    node.require(!shape.has_rank() || shape.rank() == 2, "its input_ids must be [batch, steps]");
    node.require_known(shape.has_rank() && shape[1] != unknown,
                       "the length of its sequences is unknown");
    positions = node.arange(shape[1]);
  }
  total = two_of(node, "tenon.add", total, two_of(node, "tenon.gather", from.positions, positions));
  if (node.has(1))
    total = two_of(node, "tenon.add", total,
                   two_of(node, "tenon.gather", from.segments, node.input(1)));
  const Importer::Named inputs{{"data", total}, {"gamma", from.gamma}, {"beta", from.beta}};
  node.output(
      0, node.cast(node.add("tenon.layer_norm", inputs, {{"epsilon", node.real("epsilon", 1e-12)}}),
                   type));
  if (node.is_read(1)) node.output(1, visible_tokens(node, shape));
  if (node.is_read(2)) node.output(2, node.cast(total, type));
}

void embed_layer_norm(NodeImport& node) {
  node.integer("mask_index_type", 0);
  embed(node,
        {wide_input(node, 2), wide_input(node, 3), node.widened(node.optional_input(4)),
         wide_input(node, 5), wide_input(node, 6), node.optional_input(8)},
        node.dtype(node.input(2)));
}

// Scales follow the mask, zero points the scales, both in the order of the tensors.
void quantized_embed_layer_norm(NodeImport& node) {
  const auto real = [&](std::size_t i) {
    return node.has(i) ? node.add("tenon.dequantize",
                                  std::vector{node.input(i), node.input(i + 6), node.input(i + 11)})
                       : Operand{};
  };
  embed(node, {real(2), real(3), real(4), real(5), real(6), {}}, f32);
}

// ---- products

Operand transpose_if(NodeImport& node, const Operand& x, bool condition) {
  if (!condition) return x;
  const int rank = node.rank(x);
  node.require(rank >= 2, "its transposed operands need at least two axes");
  Numbers axes;
  for (int a = 0; a < rank - 2; ++a) axes.push_back(a);
  axes.insert(axes.end(), {rank - 1, rank - 2});
  return one_of(node, "tenon.transpose", x, {{"axes", axes}});
}

void fused_matmul(NodeImport& node) {
  node.require(node.integer("transBatchA", 0) == 0 && node.integer("transBatchB", 0) == 0,
               "its transBatchA and transBatchB are not supported");
  const auto left = transpose_if(node, wide_input(node, 0), node.integer("transA", 0) != 0);
  const auto right = transpose_if(node, wide_input(node, 1), node.integer("transB", 0) != 0);
  narrow(node, 0, factored(node, two_of(node, "tenon.matmul", left, right), node.real("alpha", 1)));
}

void fused_gemm(NodeImport& node) {
  const auto left = transpose_if(node, wide_input(node, 0), node.integer("transA", 0) != 0);
  const auto right = transpose_if(node, wide_input(node, 1), node.integer("transB", 0) != 0);
  auto made = factored(node, two_of(node, "tenon.matmul", left, right), node.real("alpha", 1));
  const auto beta = node.real("beta", 1);
  if (node.has(2))
    made = two_of(node, "tenon.add", made, factored(node, wide_input(node, 2), beta));
  std::vector<double> with;
  for (const auto* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (node.attribute(name) == nullptr) break;
    with.push_back(node.real(name, 0));
  }
  narrow(node, 0, activated(node, made, node.text("activation", ""), with));
}

void fused_conv(NodeImport& node) {
  const auto shape = node.shape(node.input(1));
  node.require_known(shape.known(), "the shape of its weight is unknown");
  node.require(shape.rank() >= 3, "its weight has fewer than 3 dimensions");
  const Numbers kernel(shape.begin() + 2, shape.end());
  if (const auto found = node.integers("kernel_shape"))
    node.require(*found == kernel, "its kernel_shape does not match its weight");
  auto attributes = window_of(node, kernel);
  attributes.set("num_filter", shape[0]);
  attributes.set("groups", node.integer("group", 1));
  attributes.set("no_bias", !node.has(2));
  Importer::Named inputs{{"data", wide_input(node, 0)}, {"weight", wide_input(node, 1)}};
  if (node.has(2)) inputs.emplace_back("bias", wide_input(node, 2));
  const auto made = plus(node, node.add("tenon.convolution", inputs, attributes), 3);
  std::vector<double> with;
  if (const auto* found = node.attribute("activation_params"))
    if (const auto value = node.value_of(*found))
      if (const auto* list = std::get_if<std::vector<double>>(&value->variant())) with = *list;
  narrow(node, 0, activated(node, made, node.text("activation", ""), with));
}

// ---- packed weights

// Unpacks weights of 4 or 8 bits at import. Each block of `block_size` elements of a row shares a
// scale and a zero point.
void matmul_n_bits(NodeImport& node) {
  const auto depth = node.integer("K", 0), columns = node.integer("N", 0),
             bits = node.integer("bits", 4);
  const auto block = node.integer("block_size", 32);
  node.ignore("accuracy_level");
  node.require(bits == 4 || bits == 8, fmt::format("its weights have {} bits, not 4 or 8", bits));
  constexpr std::int64_t max_elements = std::int64_t{1} << 40;
  node.require(
      depth > 0 && columns > 0 && columns <= max_elements && depth <= max_elements / columns,
      "its K and N must be positive and not too large");
  node.require(block >= 16 && block <= 1 << 20 && (block & (block - 1)) == 0,
               "its block_size must be a power of two, from 16 to 2^20");
  node.require(!node.has(4), "its g_idx is not supported");
  const auto packed = node.input(1), scales = node.input(2), zeros = node.optional_input(3);
  node.require(packed.known() && scales.known() && (zeros.empty() || zeros.known()),
               "its weights are not known when the model is imported");
  const auto per_byte = 8 / bits, blocks = (depth + block - 1) / block,
             row_bytes = (block + per_byte - 1) / per_byte;
  const auto zero_bytes = (blocks + per_byte - 1) / per_byte;
  node.require(packed.elements.dtype() == u8 &&
                   packed.elements.size() == columns * blocks * row_bytes &&
                   scales.elements.size() == columns * blocks,
               "the size of its weights or scales does not match its K, N and block_size");
  const bool whole_zeros = !zeros.empty() && zeros.elements.dtype() == u8;
  node.require(
      zeros.empty() || zeros.elements.size() == columns * (whole_zeros ? zero_bytes : blocks),
      "the size of its zero points does not match its K, N and block_size");
  const auto scale = node.converted(scales.elements, f32);
  const auto real_zeros =
      zeros.empty() || whole_zeros ? Tensor() : node.converted(zeros.elements, f32);
  const auto bytes = packed.elements.values<std::uint8_t>();
  const auto number = [&](const auto& from, std::int64_t first, std::int64_t i) {
    return static_cast<float>(
        (from[static_cast<std::size_t>(first + i / per_byte)] >> (i % per_byte * bits)) &
        ((1 << bits) - 1));
  };
  node.charge_bytes(4 * columns * depth);
  auto weight = Tensor::empty(f32, {columns, depth});
  auto* to = static_cast<float*>(weight.data());
  for (std::int64_t row = 0; row < columns; ++row)
    for (std::int64_t i = 0; i < depth; ++i) {
      const auto at = row * blocks + i / block;
      auto zero = static_cast<float>(1 << (bits - 1));
      if (whole_zeros)
        zero = number(zeros.elements.values<std::uint8_t>(), row * zero_bytes, i / block);
      else if (real_zeros)
        zero = real_zeros.values<float>()[static_cast<std::size_t>(at)];
      *to++ = (number(bytes, at * row_bytes, i % block) - zero) *
              scale.values<float>()[static_cast<std::size_t>(at)];
    }
  const auto made =
      node.add("tenon.matmul", std::vector{wide_input(node, 0), node.constant(weight)},
               {{"transpose_b", true}});
  narrow(node, 0, plus(node, made, 5));
}

const Composition microsoft_read[] = {
    {"Gelu", gelu, 1, microsoft},
    {"BiasGelu", bias_gelu, 1, microsoft},
    {"FastGelu", fast_gelu, 1, microsoft},
    {"QuickGelu", quick_gelu, 1, microsoft},
    {"BiasSplitGelu", bias_split_gelu, 1, microsoft},
    {"SkipLayerNormalization", skip_layer_norm, 1, microsoft},
    {"SkipSimplifiedLayerNormalization", skip_rms_norm, 1, microsoft},
    {"SimplifiedLayerNormalization", rms_norm},
    {"SimplifiedLayerNormalization", rms_norm, 1, microsoft},
    {"EmbedLayerNormalization", embed_layer_norm, 1, microsoft},
    {"QEmbedLayerNormalization", quantized_embed_layer_norm, 1, microsoft},
    {"FusedMatMul", fused_matmul, 1, microsoft},
    {"TransposeMatMul", fused_matmul, 1, microsoft},
    {"FusedGemm", fused_gemm, 1, microsoft},
    {"FusedConv", fused_conv, 1, microsoft},
    {"MatMulNBits", matmul_n_bits, 1, microsoft}};

}  // namespace
}  // namespace tenon::onnx
