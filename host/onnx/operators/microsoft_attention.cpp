// com.microsoft: attention. Queries, keys and values are [batch, steps, heads size] here, as tenon.attention takes them, too.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

/// What is added to scores: a number where a mask, [batch, keys], is 0, and the bias.
Operand added_to_scores(NodeImport& node, std::size_t mask, std::size_t bias) {
  auto total = node.widened(node.optional_input(bias));
  if (!node.has(mask)) return total;
  const auto given = node.input(mask);
  node.require(node.rank(given) == 2, "its mask must be [batch, keys] of 0 and 1");
  const auto keeps = node.cast(given, f32), zero = node.scalar(0, keeps);
  const auto hidden = node.add("tenon.where", std::vector{node.add("tenon.greater", std::vector{keeps, zero}), zero,
                                                          node.scalar(node.real("mask_filter_value", -10000), keeps)});
  const auto wide = node.add("tenon.expand_dims", std::vector{hidden}, {{"axis", {1, 2}}});
  return total.empty() ? wide : node.add("tenon.add", std::vector{total, wide});
}

struct Heads {
  std::int64_t queries = 0, keys = 0;
};

void attend(NodeImport& node, Importer::Named inputs, const Heads& heads, bool causal, const Numbers& presents) {
  Attributes attributes{{"causal", causal}, {"q_heads", heads.queries}, {"kv_heads", heads.keys}};
  const auto scale = node.real("scale", 0);
  node.require(scale >= 0, "its scale is negative");
  attributes.set("scale", scale);
  std::erase_if(inputs, [](const auto& input) { return input.second.empty(); });
  const auto made = node.importer().call("tenon.attention", inputs, attributes, node.name());
  const auto type = node.dtype(node.input(0));
  node.output(0, node.cast(made[0], type));
  for (std::size_t i = 0; i < presents.size(); ++i)
    if (node.is_read(i + 1)) node.output(i + 1, node.cast(made[i + 1], type));
}

// One product gives queries, keys and values.
void attention(NodeImport& node) {
  node.require(!node.has(4) && !node.is_read(1), "it has a past, which its form keeps in one tensor");
  node.require(!node.has(6), "it has a past of a length that a run decides");
  node.require(node.integer("do_rotary", 0) == 0, "it turns queries and keys, with angles of its own");
  node.ignore("rotary_embedding_dim");
  node.ignore("past_present_share_buffer");
  const auto heads = node.integer("num_heads", 0);
  node.require(heads > 0, "its num_heads is missing");
  const auto weight = node.widened(node.input(1));
  const auto shape = node.shape(weight);
  node.require(shape.has_rank() && shape.rank() == 2 && shape[1] != unknown, "the shape of its weight is not known");
  const auto sizes = node.integers("qkv_hidden_sizes").value_or(Numbers(3, shape[1] / 3));
  node.require(sizes.size() == 3 && sizes[0] == sizes[1] && sizes[0] + sizes[1] + sizes[2] == shape[1],
               "its qkv_hidden_sizes do not fit its weight");
  auto joint = node.add("tenon.matmul", std::vector{node.widened(node.input(0)), weight});
  if (node.has(2)) joint = node.add("tenon.add", std::vector{joint, node.widened(node.input(2))});
  const auto parts = node.add_all("tenon.split", std::vector{joint}, {{"sections", 3}, {"axis", -1}, {"sizes", sizes}});
  const auto mask = added_to_scores(node, 3, 5);
  node.ignore("mask_filter_value");
  attend(node, {{"query", parts[0]}, {"key", parts[1]}, {"value", parts[2]}, {"mask", mask}}, {heads, heads},
         node.integer("unidirectional", 0) != 0, {});
}

void multi_head_attention(NodeImport& node) {
  const auto heads = node.integer("num_heads", 0);
  node.require(heads > 0, "its num_heads is missing");
  node.require(node.has(1) && node.has(2), "its queries, keys and values are packed into one tensor");
  node.require(!node.has(8) && !node.has(9), "its past has a length that a run decides");
  Operand parts[3];
  for (std::size_t i = 0; i < 3; ++i) {
    parts[i] = node.widened(node.input(i));
    node.require(node.rank(parts[i]) == 3, "its queries, keys and values must be [batch, steps, heads size]");
  }
  if (node.has(3)) {
    Numbers sizes;
    for (const auto& part : parts) sizes.push_back(node.shape(part)[2]);
    node.require(std::count(sizes.begin(), sizes.end(), unknown) == 0, "the sizes of its heads are not known");
    const auto biases =
        node.add_all("tenon.split", std::vector{node.widened(node.input(3))}, {{"sections", 3}, {"axis", 0}, {"sizes", sizes}});
    for (std::size_t i = 0; i < 3; ++i) parts[i] = node.add("tenon.add", std::vector{parts[i], biases[i]});
  }
  const auto mask = added_to_scores(node, 4, 5);
  node.ignore("mask_filter_value");
  const bool causal = node.integer("unidirectional", 0) != 0;
  const auto queries = node.shape(parts[0])[1], keys = node.shape(parts[1])[1];
  node.require(!causal || queries == unknown || keys == unknown || queries == keys,
               "its queries see what is before them, but there are other keys than queries");
  const bool past = node.has(6);
  node.require(past == node.has(7), "it has a past of keys or values alone");
  attend(node,
         {{"query", parts[0]},
          {"key", parts[1]},
          {"value", parts[2]},
          {"mask", mask},
          {"past_key", node.widened(node.optional_input(6))},
          {"past_value", node.widened(node.optional_input(7))}},
         {heads, heads}, causal, {0, 1});
}

/// [batch, steps, heads size], turned by the rows of cos and sin that the positions name.
Operand turned_by(NodeImport& node, const Operand& x, std::size_t cos, std::int64_t heads, const Operand& positions, bool interleaved,
                  std::int64_t rotary_size) {
  const Importer::Named inputs{
      {"data", x}, {"cos", node.widened(node.input(cos))}, {"sin", node.widened(node.input(cos + 1))}, {"positions", positions}};
  return node.add("tenon.rotary_embedding", inputs, {{"heads", heads}, {"interleaved", interleaved}, {"rotary_size", rotary_size}});
}

/// [batch, steps] of 0, 1 ... and where they begin.
Operand steps_of(NodeImport& node, const Operand& x, int along) {
  const auto shape = node.shape(x);
  node.require(shape.has_rank() && shape[0] != unknown && shape[along] != unknown, "the sizes of its batch and steps are not known");
  return node.add("tenon.broadcast_to", std::vector{node.count_to(shape[along])}, {{"shape", {shape[0], shape[along]}}});
}

void rotary_embedding(NodeImport& node) {
  node.require(node.real("scale", 1) == 1, "its scale is not 1");
  node.require(node.integer("is_packed_batching", 0) == 0, "its batches are packed");
  const auto x = node.widened(node.input(0));
  const int rank = node.rank(x);
  const auto table = node.shape(node.input(2));
  node.require(table.known() && table.rank() == 2, "the shape of its cos_cache is not known");
  auto heads = node.integer("num_heads", 0);
  const auto turned_size = node.integer("rotary_embedding_dim", 0);
  if (rank == 3 && heads == 0) {
    node.require(node.shape(x)[2] != unknown && turned_size == 0 && node.shape(x)[2] % (2 * table[1]) == 0, "its num_heads is missing");
    heads = node.shape(x)[2] / (2 * table[1]);
  }
  auto positions = node.cast(node.input(1), i64);
  if (node.rank(positions) == 1) positions = node.add("tenon.add", std::vector{steps_of(node, x, rank == 3 ? 1 : 2), positions});
  const auto made = turned_by(node, x, 2, rank == 3 ? heads : 0, positions, node.integer("interleaved", 0) != 0, turned_size);
  node.output(node.cast(made, node.dtype(node.input(0))));
}

// The first run of a decoder: without a past, queries see what is before them, whatever comes behind a sample's end.
void group_query_attention(NodeImport& node) {
  const Heads heads{node.integer("num_heads", 0), node.integer("kv_num_heads", 0)};
  node.require(heads.queries > 0 && heads.keys > 0, "its num_heads or kv_num_heads is missing");
  node.require(!node.has(3) && !node.has(4), "it has a past, whose length runs decide");
  node.require(node.integer("local_window_size", -1) == -1, "its queries see a window alone");
  node.require(node.real("softcap", 0) == 0, "it caps its scores");
  node.require(node.integer("smooth_softmax", 0) == 0, "its softmax has one more term");
  for (std::size_t i = 9; i < node.inputs(); ++i) node.require(!node.has(i), fmt::format("its input {} has no place here", i));
  Operand parts[3];
  if (node.has(1)) {
    for (std::size_t i = 0; i < 3; ++i) parts[i] = node.widened(node.input(i));
  } else {
    const auto joint = node.widened(node.input(0));
    const auto size = node.rank(joint) == 3 ? node.shape(joint)[2] : unknown;
    node.require(size != unknown && size % (heads.queries + 2 * heads.keys) == 0, "the size of its heads is not known");
    const auto each = size / (heads.queries + 2 * heads.keys);
    const auto split =
        node.add_all("tenon.split", std::vector{joint},
                     {{"sections", 3}, {"axis", -1}, {"sizes", {heads.queries * each, heads.keys * each, heads.keys * each}}});
    std::copy(split.begin(), split.end(), parts);
  }
  const auto length = node.rank(parts[0]) == 3 ? node.shape(parts[0])[1] : unknown;
  node.require(length != unknown, "the length of its sequences is not known");
  for (const std::size_t i : {5, 6})
    for (const auto last : node.known_integers(i).value_or(Numbers{}))
      node.require(last == (i == 5 ? length - 1 : length), "its sequences are shorter than its queries, so that some are padding");
  if (node.integer("do_rotary", 0) != 0) {
    const auto steps = steps_of(node, parts[0], 1);
    const bool interleaved = node.integer("rotary_interleaved", 0) != 0;
    const auto table = node.shape(node.input(7));
    node.require(table.known() && table.rank() == 2, "the shape of its cos_cache is not known");
    parts[0] = turned_by(node, parts[0], 7, heads.queries, steps, interleaved, 2 * table[1]);
    parts[1] = turned_by(node, parts[1], 7, heads.keys, steps, interleaved, 2 * table[1]);
  } else {
    node.ignore("rotary_interleaved");
  }
  attend(node, {{"query", parts[0]}, {"key", parts[1]}, {"value", parts[2]}}, heads, true, {0, 1});
}

const Composition microsoft_attention_read[] = {{"Attention", attention, 1, "com.microsoft"},
                                                {"MultiHeadAttention", multi_head_attention, 1, "com.microsoft"},
                                                {"GroupQueryAttention", group_query_attention, 1, "com.microsoft"},
                                                {"RotaryEmbedding", rotary_embedding, 1, "com.microsoft"}};

}  // namespace
}  // namespace tenon::onnx
