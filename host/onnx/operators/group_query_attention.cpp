// com.microsoft.GroupQueryAttention. Its key and value cache may be longer than its contents: the
// end for each sample is an input.
#include <fmt/format.h>

#include <limits>

#include "onnx/operators/microsoft_attention.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

struct Decoder {
  NodeImport& node;
  std::int64_t q_heads, kv_heads;
  bool has_past;
  Operand query, key, value;  ///< [batch, steps, heads * size]

  Operand binary(const char* op, const Operand& left, const Operand& right) const {
    return node.add(op, std::vector{left, right});
  }
  Operand where(const Operand& condition, const Operand& yes, const Operand& no) const {
    return node.add("tenon.where", std::vector{condition, yes, no});
  }
  Operand wide(const Operand& x, const Numbers& axes) const {
    return node.add("tenon.expand_dims", std::vector{x}, {{"axis", axes}});
  }
  Operand of_shape(const Operand& x, const Numbers& shape) const {
    return node.add("tenon.reshape", std::vector{x}, {{"shape", shape}, {"copy_zeros", true}});
  }
  Operand of_order(const Operand& x) const {
    return node.add("tenon.transpose", std::vector{x}, {{"axes", {0, 2, 1, 3}}});
  }
};

Decoder decoder_of(NodeImport& node) {
  Decoder it{
      node, node.integer("num_heads", 0), node.integer("kv_num_heads", 0), node.has(3), {}, {}, {}};
  node.require(it.q_heads > 0 && it.kv_heads > 0, "its num_heads or kv_num_heads is missing");
  node.require(node.has(3) == node.has(4), "it has past keys or past values, but not both");
  node.require(node.has(1) == node.has(2), "it has keys or values, but not both");
  node.require(node.integer("smooth_softmax", 0) == 0 && !node.has(11),
               "its smooth_softmax or head_sink is not supported");
  node.require(node.integer("qk_output", 0) == 0, "its qk_output is not supported");
  for (const auto* quantized : {"k_quant_type", "v_quant_type"})
    node.require(node.text(quantized, "NONE") == "NONE", "a quantized cache is not supported");
  for (std::size_t i = 12; i < node.inputs(); ++i)
    node.require(!node.has(i), fmt::format("its input {} is not supported", i));
  it.query = node.widened(node.input(0));
  node.require(node.rank(it.query) == 3, "its queries must be [batch, steps, heads size]");
  if (node.has(1)) {
    it.key = node.widened(node.input(1)), it.value = node.widened(node.input(2));
    node.require(node.rank(it.key) == 3 && node.rank(it.value) == 3,
                 "its keys and values must be [batch, steps, heads size]");
    return it;
  }
  const auto size = node.shape(it.query)[2], heads = it.q_heads + 2 * it.kv_heads;
  node.require_known(size != unknown, "the size of its heads is unknown");
  node.require(size % heads == 0, fmt::format("its {} heads do not divide {}", heads, size));
  const auto each = size / heads;
  const auto projections =
      node.add_all("tenon.split", std::vector{it.query},
                   {{"sections", 3},
                    {"axis", -1},
                    {"sizes", {it.q_heads * each, it.kv_heads * each, it.kv_heads * each}}});
  it.query = projections[0], it.key = projections[1], it.value = projections[2];
  return it;
}

/// Row positions in the cache: the rows of this call follow the valid rows of the past.
struct CachePositions {
  Operand first;  ///< [batch, 1]: first row of this call
  Operand steps;  ///< scalar: number of rows of this call
  Operand end;    ///< [batch, 1]: rows from here on are padding
  Operand old;    ///< scalar: rows of the past tensor
  Operand all;    ///< [rows of the present]: 0, 1 and so on
};

// A first call, whose number of steps equals total_sequence_length, begins at 0; a later call
// writes a sample's last rows.
CachePositions cache_positions(const Decoder& it) {
  CachePositions at;
  const auto zero = number(it.node, 0);
  const auto scalar = [&](std::size_t i) {
    return it.node.cast(it.of_shape(it.node.input(i), {}), i64);
  };
  at.steps = size_along(it.node, it.query, 1);
  at.old = it.has_past ? size_along(it.node, it.node.input(3), 2) : zero;
  const auto total = scalar(6);
  at.end = it.binary("tenon.add", it.of_shape(it.node.cast(it.node.input(5), i64), {-1, 1}),
                     number(it.node, 1));
  at.first = it.where(it.binary("tenon.equal", at.steps, total), zero,
                      it.binary("tenon.sub", at.end, at.steps));
  at.all = arange_to(it.node, it.binary("tenon.maximum", at.old, total));
  return at;
}

/// [batch, rows]: index of the source row for each row of the present, in the concatenation of past
/// and current rows. If the lengths are inconsistent, the index is out of range, and the run fails.
Operand rows_of(const Decoder& it, const CachePositions& at) {
  const auto zero = number(it.node, 0);
  const auto end_of_rows = it.binary("tenon.add", at.first, at.steps);
  const auto moved = it.binary("tenon.add", at.all, it.binary("tenon.sub", at.old, at.first));
  auto rows = it.where(it.binary("tenon.less", at.all, at.first), at.all, moved);
  rows = it.where(it.binary("tenon.less", at.all, end_of_rows), rows, zero);
  const auto least =
      it.binary("tenon.minimum", at.first, it.binary("tenon.sub", at.end, number(it.node, 1)));
  auto wrong = it.binary("tenon.logical_or", it.binary("tenon.less", least, zero),
                         it.binary("tenon.greater", at.first, at.old));
  wrong = it.binary("tenon.logical_or", wrong,
                    it.binary("tenon.greater", at.end, size_along(it.node, at.all, 0)));
  return it.where(wrong, it.binary("tenon.add", at.old, at.steps), rows);
}

/// The cache including this call's rows, [batch, rows, heads, size], followed by zeros.
Operand present_of(const Decoder& it, const CachePositions& at, const Operand& rows,
                   const Operand& now, std::size_t past) {
  auto joined = it.of_shape(now, {0, 0, it.kv_heads, -1});
  if (it.has_past) {
    const auto before = it.of_order(it.node.widened(it.node.input(past)));
    joined = it.node.add("tenon.concat", std::vector{before, joined}, {{"axis", 1}});
  }
  const auto taken =
      it.node.add("tenon.gather_nd", std::vector{joined, it.wide(rows, {2})}, {{"batch_dims", 1}});
  const auto written = it.binary("tenon.less", at.all, it.binary("tenon.add", at.first, at.steps));
  return it.where(it.wide(written, {2, 3}), taken, it.node.scalar(0, taken));
}

/// [batch, steps]
Operand positions_of(const Decoder& it, const Operand& first) {
  if (it.node.has(9)) return it.node.cast(it.node.input(9), i64);
  return it.binary("tenon.add", first, arange_to(it.node, size_along(it.node, it.query, 1)));
}

void apply_rotary(Decoder& it, const Operand& first) {
  auto& node = it.node;
  const bool interleaved = node.integer("rotary_interleaved", 0) != 0;
  if (node.integer("do_rotary", 0) == 0) return;
  const auto table = node.shape(node.input(7));
  node.require(!table.has_rank() || table.rank() == 2, "its cos_cache must have 2 dimensions");
  node.require_known(table.has_rank() && table[1] != unknown,
                     "the shape of its cos_cache is unknown");
  const auto positions = positions_of(it, first);
  it.query =
      apply_rotary_embedding(node, it.query, 7, it.q_heads, positions, interleaved, 2 * table[1]);
  it.key =
      apply_rotary_embedding(node, it.key, 7, it.kv_heads, positions, interleaved, 2 * table[1]);
}

/// Whether this is known to be the first call, with samples without padding.
bool is_first(NodeImport& node, std::int64_t steps) {
  if (node.has(3) || steps == unknown) return false;
  for (const std::size_t i : {5, 6}) {
    if (!node.has(i)) continue;
    if (!node.input(i).known()) return false;
    for (const auto last : node.known_integers(i).value_or(Numbers{}))
      if (last != (i == 5 ? steps - 1 : steps)) return false;
  }
  return true;
}

Attributes attributes_of(const Decoder& it) {
  const auto window = it.node.integer("local_window_size", -1);
  const auto softcap = it.node.real("softcap", 0);
  it.node.require(window == -1 || window > 0, "its local_window_size must be more than 0, or -1");
  it.node.require(softcap >= 0, "its softcap is negative");
  return {{"causal", true},
          {"q_heads", it.q_heads},
          {"kv_heads", it.kv_heads},
          {"left_window", window == -1 ? -1 : window - 1},  // without the query's own position
          {"softcap", softcap}};
}

void group_query_attention(NodeImport& node) {
  auto it = decoder_of(node);
  const auto attributes = attributes_of(it);
  const auto type = node.dtype(node.input(0));
  const auto bias = node.widened(node.optional_input(10));
  if (is_first(node, node.shape(it.query)[1])) {
    const auto batch = it.of_shape(size_along(node, it.query, 0), {1});
    const auto sizes =
        node.add("tenon.concat", std::vector{batch, node.constant({1})}, {{"axis", 0}});
    apply_rotary(it, node.add("tenon.broadcast_to",
                              Importer::Named{{"x", number(node, 0)}, {"sizes", sizes}}));
    const auto made =
        attend(node, {{"query", it.query}, {"key", it.key}, {"value", it.value}, {"mask", bias}},
               attributes);
    for (const std::size_t i : {1, 2})
      if (node.is_read(i)) node.output(i, node.cast(made[i], type));
    return;
  }
  const auto at = cache_positions(it);
  apply_rotary(it, at.first);
  const auto rows = rows_of(it, at);
  const Operand presents[] = {present_of(it, at, rows, it.key, 3),
                              present_of(it, at, rows, it.value, 4)};
  auto mask = it.wide(it.binary("tenon.less", at.all, at.end), {1, 2});
  if (!bias.empty())
    mask = it.where(mask, bias, node.scalar(-std::numeric_limits<double>::infinity(), bias));
  attend(node,
         {{"query", it.query},
          {"key", it.of_shape(presents[0], {0, 0, -1})},
          {"value", it.of_shape(presents[1], {0, 0, -1})},
          {"mask", mask},
          {"lengths", it.of_shape(it.binary("tenon.add", at.first, at.steps), {-1})}},
         attributes);
  for (const std::size_t i : {1, 2})
    if (node.is_read(i)) node.output(i, node.cast(it.of_order(presents[i - 1]), type));
}

const Composition group_query_attention_read{"GroupQueryAttention", group_query_attention, 1,
                                             "com.microsoft"};

}  // namespace
}  // namespace tenon::onnx
