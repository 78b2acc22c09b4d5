// com.microsoft: attention. Queries, keys and values are [batch, steps, heads * size], as in
// tenon.attention.
#include "onnx/operators/microsoft_attention.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "onnx/operators/integer_product.hpp"

namespace tenon::onnx {

std::vector<Operand> attend(NodeImport& node, Importer::Named inputs, Attributes attributes) {
  return attend(node, std::move(inputs), std::move(attributes), node.dtype(node.input(0)));
}

std::vector<Operand> attend(NodeImport& node, Importer::Named inputs, Attributes attributes,
                            DType type) {
  const auto scale = node.real("scale", 0);
  node.require(scale >= 0, "its scale is negative");
  attributes.set("scale", scale);
  std::erase_if(inputs, [](const auto& input) { return input.second.empty(); });
  auto made = node.importer().call("tenon.attention", inputs, attributes, node.name());
  node.output(0, node.cast(made[0], type));
  return made;
}

Operand number(NodeImport& node, std::int64_t value) {
  return node.constant(Tensor::from({value}, Shape::scalar()));
}

Operand size_along(NodeImport& node, const Operand& x, int axis) {
  const auto shape = node.shape(x);
  if (shape.has_rank() && shape[axis] != unknown) return number(node, shape[axis]);
  return node.add("tenon.gather", std::vector{node.shape_of(x), number(node, axis)});
}

Operand arange_to(NodeImport& node, const Operand& end) {
  return node.add("tenon.range", std::vector{number(node, 0), end, number(node, 1)});
}

Operand apply_rotary_embedding(NodeImport& node, const Operand& x, std::size_t cos,
                               std::int64_t heads, const Operand& positions, bool interleaved,
                               std::int64_t rotary_size) {
  const Importer::Named inputs{{"data", x},
                               {"cos", node.widened(node.input(cos))},
                               {"sin", node.widened(node.input(cos + 1))},
                               {"positions", positions}};
  return node.add("tenon.rotary_embedding", inputs,
                  {{"heads", heads}, {"interleaved", interleaved}, {"rotary_size", rotary_size}});
}

namespace {

using Numbers = std::vector<std::int64_t>;

/// Mask of one number per sample, [batch]: the end of its visible keys; or of two, [2 batch]: the
/// ends, then the beginnings.
Operand visible_between(NodeImport& node, const Operand& mask, const Operand& keys) {
  const auto count = node.shape(mask)[0], batch = node.shape(node.input(0))[0];
  node.require_known(count != unknown && batch != unknown,
                     "the sizes of its batch and mask are unknown");
  node.require(count == batch || count == 2 * batch,
               "its one-dimensional mask must have one or two numbers per sample");
  const auto bounds = node.cast(
      node.add("tenon.reshape", std::vector{mask}, {{"shape", {count / batch, batch, 1}}}), i64);
  const auto bound = [&](std::int64_t i) {
    return node.add("tenon.gather", std::vector{bounds, number(node, i)});
  };
  const auto positions = arange_to(node, keys);
  auto visible = node.add("tenon.less", std::vector{positions, bound(0)});
  if (count == batch) return visible;
  return node.add(
      "tenon.logical_and",
      std::vector{visible, node.add("tenon.greater_equal", std::vector{positions, bound(1)})});
}

/// The addend of the scores: a filter value for masked positions, and the bias. The mask is [batch,
/// keys] or [batch, queries, keys] of 0 and 1, or gives the ends of the keys.
Operand added_to_scores(NodeImport& node, std::size_t mask, std::size_t bias, const Operand& keys) {
  auto total = node.widened(node.optional_input(bias));
  if (!node.has(mask)) {
    node.ignore("mask_filter_value");
    return total;
  }
  const auto mask_input = node.input(mask);
  const int rank = node.rank(mask_input);
  node.require(rank >= 1 && rank <= 3, "its mask must have one to three dimensions");
  const auto filter = node.real("mask_filter_value", -10000);
  const auto zero = node.constant(Tensor::from({0.0F}, Shape::scalar()));
  const auto visible =
      rank == 1 ? visible_between(node, mask_input, keys)
                : node.add("tenon.greater", std::vector{node.cast(mask_input, f32), zero});
  const auto hidden =
      node.add("tenon.where", std::vector{visible, zero, node.scalar(filter, zero)});
  const auto wide = node.add("tenon.expand_dims", std::vector{hidden},
                             {{"axis", rank == 3 ? Numbers{1} : Numbers{1, 2}}});
  return total.empty() ? wide : node.add("tenon.add", std::vector{total, wide});
}

/// Number of keys per sample, including those of the past.
Operand count_of_keys(NodeImport& node, const Operand& keys, const Operand& past) {
  const auto now = size_along(node, keys, node.rank(keys) - 2);
  return past.empty() ? now : node.add("tenon.add", std::vector{size_along(node, past, 2), now});
}

/// Indices of the optional inputs of Attention and QAttention.
struct AttentionInputs {
  std::size_t mask, past, bias;
};

/// Attention of a product that gives queries, keys and values. Past keys and values are one tensor,
/// [2, batch, heads, steps, size].
void attend_joint(NodeImport& node, const Operand& joint, const Numbers& sizes,
                  const AttentionInputs& at, DType type) {
  node.require(node.integer("do_rotary", 0) == 0, "its do_rotary is not supported");
  node.require(node.integer("past_present_share_buffer", 0) == 0,
               "its past_present_share_buffer is not supported");
  const auto heads = node.integer("num_heads", 0);
  node.require(heads > 0, "its num_heads is missing");
  const auto projections = node.add_all("tenon.split", std::vector{joint},
                                        {{"sections", 3}, {"axis", -1}, {"sizes", sizes}});
  std::vector<Operand> past(2);
  if (node.has(at.past)) {
    past = node.add_all("tenon.split", std::vector{node.widened(node.input(at.past))},
                        {{"sections", 2}, {"axis", 0}});
    for (auto& half : past) half = node.add("tenon.squeeze", std::vector{half}, {{"axis", {0}}});
  }
  const auto mask =
      added_to_scores(node, at.mask, at.bias, count_of_keys(node, projections[1], past[0]));
  const auto made = attend(
      node,
      {{"query", projections[0]},
       {"key", projections[1]},
       {"value", projections[2]},
       {"mask", mask},
       {"past_key", past[0]},
       {"past_value", past[1]}},
      {{"causal", node.integer("unidirectional", 0) != 0}, {"q_heads", heads}, {"kv_heads", heads}},
      type);
  if (!node.is_read(1)) return;
  std::vector<Operand> presents;
  for (const std::size_t i : {1, 2})
    presents.push_back(node.add("tenon.expand_dims", std::vector{made[i]}, {{"axis", {0}}}));
  node.output(1, node.cast(node.add("tenon.concat", presents, {{"axis", 0}}), type));
}

/// Columns of the weight, which must be a matrix.
std::int64_t columns_of(NodeImport& node, const Operand& weight) {
  const auto shape = node.shape(weight);
  node.require_known(shape.has_rank() && (shape.rank() != 2 || shape[1] != unknown),
                     "the shape of its weight is unknown");
  node.require(shape.rank() == 2, "its weight must be [input size, 3 hidden size]");
  return shape[1];
}

void attention(NodeImport& node) {
  node.require(!node.has(6), "its past_sequence_length is not supported");
  node.ignore("rotary_embedding_dim");
  const auto weight = node.widened(node.input(1));
  const auto columns = columns_of(node, weight);
  const auto sizes = node.integers("qkv_hidden_sizes").value_or(Numbers(3, columns / 3));
  node.require(
      sizes.size() == 3 && sizes[0] == sizes[1] && sizes[0] + sizes[1] + sizes[2] == columns,
      "its qkv_hidden_sizes do not match its weight");
  auto joint = node.add("tenon.matmul", std::vector{node.widened(node.input(0)), weight});
  if (node.has(2)) joint = node.add("tenon.add", std::vector{joint, node.widened(node.input(2))});
  attend_joint(node, joint, sizes, {3, 4, 5}, node.dtype(node.input(0)));
}

// Only the first product is one of integers, whose scales are per tensor or per column.
void quantized_attention(NodeImport& node) {
  const auto columns = columns_of(node, node.input(1));
  node.require(columns % 3 == 0, "the columns of its weight are not a multiple of 3");
  const auto product = integer_product(node, node.input(0), node.input(1), node.optional_input(6),
                                       node.optional_input(7));
  const auto joint = rescaled(node, product, node.input(3), node.input(4), node.input(2));
  attend_joint(node, node.widened(joint), Numbers(3, columns / 3), {5, 8, node.inputs()},
               node.dtype(node.input(3)));
}

/// Keys or values as [batch, steps, heads * size].
Operand in_steps(NodeImport& node, const Operand& x, std::int64_t heads) {
  if (node.rank(x) == 3) return x;
  const auto transposed = node.add("tenon.transpose", std::vector{x}, {{"axes", {0, 2, 1, 3}}});
  const auto size = node.shape(transposed)[3];
  node.require(size == unknown || size <= INT64_MAX / heads, "its heads are too large");
  return node.add("tenon.reshape", std::vector{transposed},
                  {{"shape", {0, 0, size == unknown ? -1 : heads * size}}, {"copy_zeros", true}});
}

void multi_head_attention(NodeImport& node) {
  const auto heads = node.integer("num_heads", 0);
  node.require(heads > 0, "its num_heads is missing");
  node.require(node.has(1) && node.has(2), "packed queries, keys and values are not supported");
  node.require(!node.has(8) && !node.has(9),
               "its past_sequence_length or cache_indirection is not supported");
  Operand projections[3];
  for (std::size_t i = 0; i < 3; ++i) projections[i] = node.widened(node.input(i));
  const int rank = node.rank(projections[1]);
  node.require(node.rank(projections[0]) == 3 && (rank == 3 || rank == 4) &&
                   node.rank(projections[2]) == rank,
               "its queries must be [batch, steps, heads size], and keys and values, too, or "
               "[batch, heads, steps, size]");
  for (std::size_t i = 1; i < 3; ++i) projections[i] = in_steps(node, projections[i], heads);
  if (node.has(3)) {
    Numbers sizes;
    for (const auto& projection : projections) sizes.push_back(node.shape(projection)[2]);
    node.require_known(std::count(sizes.begin(), sizes.end(), unknown) == 0,
                       "the sizes of its heads are unknown");
    const auto biases = node.add_all("tenon.split", std::vector{node.widened(node.input(3))},
                                     {{"sections", 3}, {"axis", 0}, {"sizes", sizes}});
    // keys and values with a leading head axis come from another attention, which has already added
    // the bias
    for (std::size_t i = 0; i < (rank == 3 ? 3 : 1); ++i)
      projections[i] = node.add("tenon.add", std::vector{projections[i], biases[i]});
  }
  const bool causal = node.integer("unidirectional", 0) != 0;
  const auto queries = node.shape(projections[0])[1], keys = node.shape(projections[1])[1];
  node.require(!causal || queries == unknown || keys == unknown || queries == keys,
               "it is causal, but its numbers of queries and keys differ");
  node.require(node.has(6) == node.has(7), "it has past keys or past values, but not both");
  const auto past_key = node.widened(node.optional_input(6)),
             past_value = node.widened(node.optional_input(7));
  const auto mask = added_to_scores(node, 4, 5, count_of_keys(node, projections[1], past_key));
  const auto made = attend(node,
                           {{"query", projections[0]},
                            {"key", projections[1]},
                            {"value", projections[2]},
                            {"mask", mask},
                            {"past_key", past_key},
                            {"past_value", past_value}},
                           {{"causal", causal}, {"q_heads", heads}, {"kv_heads", heads}});
  for (const std::size_t i : {1, 2})
    if (node.is_read(i)) node.output(i, node.cast(made[i], node.dtype(node.input(0))));
}

/// [batch, steps] with 0, 1 and so on along the steps.
Operand steps_of(NodeImport& node, const Operand& x, int along) {
  const auto shape = node.shape(x);
  node.require_known(shape.has_rank() && shape[0] != unknown && shape[along] != unknown,
                     "the sizes of its batch and steps are unknown");
  return node.add("tenon.broadcast_to", std::vector{node.arange(shape[along])},
                  {{"shape", {shape[0], shape[along]}}});
}

void rotary_embedding(NodeImport& node) {
  node.require(node.real("scale", 1) == 1, "a scale other than 1 is not supported");
  node.require(node.integer("is_packed_batching", 0) == 0, "packed batches are not supported");
  const auto x = node.widened(node.input(0));
  const int rank = node.rank(x);
  const auto table = node.shape(node.input(2));
  node.require_known(table.known(), "the shape of its cos_cache is unknown");
  node.require(table.rank() == 2, "its cos_cache must have 2 dimensions");
  auto heads = node.integer("num_heads", 0);
  const auto rotary_size = node.integer("rotary_embedding_dim", 0);
  if (rank == 3 && heads == 0) {
    node.require_known(node.shape(x)[2] != unknown,
                       "its num_heads is missing, and the size of its heads is unknown");
    node.require(rotary_size == 0 && node.shape(x)[2] % (2 * table[1]) == 0,
                 "its num_heads is missing");
    heads = node.shape(x)[2] / (2 * table[1]);
  }
  auto positions = node.cast(node.input(1), i64);
  if (node.rank(positions) == 1)
    positions = node.add("tenon.add", std::vector{steps_of(node, x, rank == 3 ? 1 : 2), positions});
  const auto made = apply_rotary_embedding(node, x, 2, rank == 3 ? heads : 0, positions,
                                           node.integer("interleaved", 0) != 0, rotary_size);
  node.output(node.cast(made, node.dtype(node.input(0))));
}

const Composition microsoft_attention_read[] = {
    {"Attention", attention, 1, "com.microsoft"},
    {"QAttention", quantized_attention, 1, "com.microsoft"},
    {"MultiHeadAttention", multi_head_attention, 1, "com.microsoft"},
    {"RotaryEmbedding", rotary_embedding, 1, "com.microsoft"}};

}  // namespace
}  // namespace tenon::onnx
