// Scaled dot-product attention.
#pragma once
#include <algorithm>
#include <cmath>
#include <tenon/operator.hpp>

/// The attention window: which keys a query attends to.
struct AttentionWindow {
  bool causal;
  std::int64_t left_window, right_window;

  /// Whether the query at position `own` attends to `key`. length: number of keys that are not
  /// padding; negative: all.
  TENON_FN bool sees(std::int64_t own, std::int64_t key, std::int64_t length) const {
    return (!causal || key <= own) && (left_window < 0 || own - key <= left_window) &&
           (right_window < 0 || key - own <= right_window) && (length < 0 || key < length);
  }

  /// The range [first, last) of keys that a query attends to, among `all` keys.
  struct Keys {
    std::int64_t first, last;
  };
  Keys seen(std::int64_t own, std::int64_t all, std::int64_t length) const {
    const auto first = left_window < 0 || own <= left_window ? 0 : std::min(own - left_window, all);
    auto last = length < 0 ? all : std::min(length, all);
    if (causal) last = std::min(last, own + 1);
    if (right_window >= 0 && right_window < all - own)
      last = std::min(last, own + right_window + 1);
    return {first, std::max(first, last)};
  }
};

enum class Scores { scaled, capped, masked, softmax };

struct Attention : tenon::Operator {
  double scale = 0, softcap = 0;
  std::int64_t q_heads = 0, kv_heads = 0, left_window = -1, right_window = -1;
  bool causal = false;
  Scores scores_are = Scores::scaled;

  static constexpr void describe(auto& op) {
    op.doc(
        "scaled dot-product attention: softmax(scale * query @ key^T + mask) @ value for each "
        "head; computed in float32 or wider and rounded once");
    op.input("query", "[batch, q_heads, queries, size] or [batch, queries, q_heads * size]");
    op.input("key",
             "[batch, kv_heads, keys, size] or [batch, keys, kv_heads * size]; kv_heads divides "
             "q_heads");
    op.input("value",
             "[batch, kv_heads, keys, value_size] or [batch, keys, kv_heads * value_size]; an "
             "infinity or NaN in the value of a key that any query attends to may propagate to the "
             "output of all queries");
    op.input("mask",
             "broadcasts to [batch, q_heads, queries, past + keys]; added to the scores; boolean: "
             "false where a query does not attend to a key")
        .optional()
        .types(tenon::floating + tenon::Types{tenon::boolean});
    op.input("past_key", "[batch, kv_heads, past, size]; cached keys that precede key").optional();
    op.input("past_value", "[batch, kv_heads, past, value_size]; cached values that precede value")
        .optional();
    op.input("lengths", "[batch]; number of keys of each sample that are not padding")
        .optional()
        .types({tenon::i64});
    op.output("output",
              "[batch, q_heads, queries, value_size] or [batch, queries, q_heads * value_size]");
    op.output("present_key", "[batch, kv_heads, past + keys, size]; past_key followed by key");
    op.output("present_value",
              "[batch, kv_heads, past + keys, value_size]; past_value followed by value");
    op.output(
        "scores",
        "[batch, q_heads, queries, past + keys]; the scores at the stage selected by `scores_are`");
    op.param("q_heads", &Attention::q_heads,
             "number of heads of query; required if query has three dimensions")
        .at_least(0);
    op.param("kv_heads", &Attention::kv_heads,
             "number of heads of key and value; required if query has three dimensions")
        .at_least(0);
    op.param("scale", &Attention::scale, "factor of query @ key^T; 0: 1 / sqrt(size)").at_least(0);
    op.param("softcap", &Attention::softcap,
             "limit c of the scores: each score becomes c * tanh(score / c); 0: no limit")
        .at_least(0);
    op.param("causal", &Attention::causal,
             "causal mask: query i attends to keys at positions 0 to past + i, or 0 to lengths - "
             "queries + i if lengths is present");
    op.param("left_window", &Attention::left_window,
             "number of keys before its own position that a query attends to; -1: all")
        .at_least(-1);
    op.param("right_window", &Attention::right_window,
             "number of keys after its own position that a query attends to; -1: all")
        .at_least(-1);
    op.param("scores_are", &Attention::scores_are,
             "stage of the output scores: scaled: scale * query @ key^T; capped: after `softcap`; "
             "masked: after mask; softmax: after softmax")
        .one_of({{"scaled", Scores::scaled},
                 {"capped", Scores::capped},
                 {"masked", Scores::masked},
                 {"softmax", Scores::softmax}});
    op.backward_reads("query", "key", "value", "mask", "past_key", "past_value", "lengths");
    op.example({{"query", {2, 4, 3, 5}}, {"key", {2, 2, 6, 5}}, {"value", {2, 2, 6, 7}}},
               {{"causal", true}});
    op.example({{"query", {2, 3, 8}}, {"key", {2, 6, 4}}, {"value", {2, 6, 4}}, {"mask", {3, 6}}},
               {{"q_heads", 4}, {"kv_heads", 2}});
    op.onnx("", "Attention")
        .since(23)
        .inputs("query", "key", "value", "mask", "past_key", "past_value", "lengths")
        .outputs("output", "present_key", "present_value", "scores")
        .attribute("scale", "scale")
        .attribute("softcap", "softcap")
        .attribute("is_causal", "causal")
        .attribute("q_num_heads", "q_heads")
        .attribute("kv_num_heads", "kv_heads")
        .attribute("left_window_size", "left_window")
        .attribute("right_window_size", "right_window")
        .attribute("qk_matmul_output_mode", "scores_are", 0)
        .value("scores_are", 0, "scaled")
        .value("scores_are", 1, "capped")
        .value("scores_are", 2, "masked")
        .value("scores_are", 3, "softmax")
        .ignore("softmax_precision");
  }

  void infer(tenon::Infer& io) const;
  void forward(const tenon::Call& call) const;
  void backward(const tenon::Call& call) const;

  /// Sizes of a call; tenon::unknown if not known.
  struct Sizes {
    std::int64_t batch, q_heads, kv_heads, queries, keys, past, size, value_size;
    bool flat;  ///< three-dimensional tensors, with heads in the last axis
    TENON_FN std::int64_t all() const { return past + keys; }
    TENON_FN std::int64_t group() const { return q_heads / kv_heads; }
    /// Key position of query 0.
    TENON_FN std::int64_t first_query(std::int64_t length) const {
      return length < 0 ? past : length - queries;
    }
  };
  AttentionWindow window() const { return {causal, left_window, right_window}; }
  double scale_for(std::int64_t size) const {
    return scale > 0 ? scale : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(size, 1)));
  }

  Sizes sizes_of(const tenon::Call& call) const;
  Sizes sizes_of(const tenon::Shape& query, const tenon::Shape& key, const tenon::Shape& value,
                 std::int64_t past) const;
};

inline Attention::Sizes Attention::sizes_of(const tenon::Shape& query, const tenon::Shape& key,
                                            const tenon::Shape& value, std::int64_t past) const {
  const bool flat = query.rank() == 3;
  const auto row_size = [](std::int64_t size, std::int64_t heads) {
    return size == tenon::unknown ? size : size / std::max<std::int64_t>(heads, 1);
  };
  if (flat)
    return {query[0],
            q_heads,
            kv_heads,
            query[1],
            key[1],
            past,
            row_size(query[2], q_heads),
            row_size(value[2], kv_heads),
            true};
  return {query[0], query[1], key[1], query[2], key[2], past, query[3], value[3], false};
}

inline void Attention::infer(tenon::Infer& io) const {
  const auto query = io.input("query").shape, key = io.input("key").shape,
             value = io.input("value").shape;
  io.require(io.has_input("past_key") == io.has_input("past_value"),
             "has only one of past_key and past_value: needs both or neither");
  if (io.has_input("mask")) {
    const auto mask = io.input("mask").shape;
    io.require(!mask.has_rank() || (mask.rank() >= 1 && mask.rank() <= 4), "mask is ", mask,
               " but needs 1 to 4 dimensions");
  }
  if (!query.has_rank() || !key.has_rank() || !value.has_rank()) return;
  io.require((query.rank() == 3 || query.rank() == 4) && key.rank() == query.rank() &&
                 value.rank() == query.rank(),
             "query is ", query, ", key ", key, " and value ", value,
             ": needs three or four dimensions each");
  const auto any = tenon::unknown;
  std::int64_t past = 0;
  if (io.has_input("past_key")) {
    const auto past_shape = io.input("past_key").shape;
    io.require(!past_shape.has_rank() || past_shape.rank() == 4, "past_key is ", past_shape,
               " but needs four dimensions");
    past = past_shape.has_rank() ? past_shape[2] : any;
  }
  const auto differ = [&](std::int64_t a, std::int64_t b) {
    return a != any && b != any && a != b;
  };
  if (query.rank() == 3) {
    if (q_heads < 1 || kv_heads < 1)
      io.param_error("q_heads", "and kv_heads are required if query has three dimensions");
    io.require((query[2] == any || query[2] % q_heads == 0) &&
                   (key[2] == any || key[2] % kv_heads == 0) &&
                   (value[2] == any || value[2] % kv_heads == 0),
               "query is ", query, ", key ", key, " and value ", value,
               ": needs a last size that is a multiple of q_heads, ", q_heads,
               ", for query, and of kv_heads, ", kv_heads, ", for key and value");
  }
  const auto sizes = sizes_of(query, key, value, past);
  io.require(sizes.q_heads == any || sizes.kv_heads == any ||
                 (sizes.kv_heads > 0 && sizes.q_heads % sizes.kv_heads == 0),
             "query has ", sizes.q_heads, " heads, which is not a multiple of the ", sizes.kv_heads,
             " heads of key");
  const auto key_size = query.rank() == 4 || key[2] == any ? key[-1] : key[2] / kv_heads;
  const auto value_heads = query.rank() == 4 ? value[1] : kv_heads,
             value_rows = query.rank() == 4 ? value[2] : value[1];
  io.require(!differ(key_size, sizes.size) && !differ(value_heads, sizes.kv_heads) &&
                 !differ(value_rows, sizes.keys) && !differ(key[0], sizes.batch) &&
                 !differ(value[0], sizes.batch),
             "query is ", query, ", key ", key, " and value ", value,
             ": needs equal batch sizes, equal head sizes of query and key, and equal numbers of "
             "heads and keys of key and value");
  const auto all = past == any || sizes.keys == any ? any : past + sizes.keys;
  if (io.has_input("past_key")) {
    io.set_input("past_key", {sizes.batch, sizes.kv_heads, past, sizes.size});
    io.set_input("past_value", {sizes.batch, sizes.kv_heads, past, sizes.value_size});
  }
  if (io.has_input("lengths")) io.set_input("lengths", {sizes.batch});
  if (io.has_input("mask")) {
    const auto mask = io.input("mask").shape;
    const std::int64_t full[] = {sizes.batch, sizes.q_heads, sizes.queries};
    for (int axis = mask.has_rank() ? mask.rank() - 2 : -1, to = 2; axis >= 0; --axis, --to)
      io.require(mask[axis] == 1 || !differ(mask[axis], full[to]), "mask is ", mask,
                 ", which does not broadcast to the scores ",
                 tenon::Shape{full[0], full[1], full[2], all});
    io.require(!mask.has_rank() || mask[-1] == any || all == any || mask[-1] <= all, "mask is ",
               mask, ", but there are only ", all, " keys");
  }
  const auto wide = query.rank() == 3 && sizes.value_size != any ? q_heads * sizes.value_size : any;
  io.set_output(0, query.rank() == 3
                       ? tenon::Shape{sizes.batch, sizes.queries, wide}
                       : tenon::Shape{sizes.batch, sizes.q_heads, sizes.queries, sizes.value_size});
  io.set_output(1, {sizes.batch, sizes.kv_heads, all, sizes.size});
  io.set_output(2, {sizes.batch, sizes.kv_heads, all, sizes.value_size});
  io.set_output(3, {sizes.batch, sizes.q_heads, sizes.queries, all});
}

inline Attention::Sizes Attention::sizes_of(const tenon::Call& call) const {
  const auto past = call.has_input("past_key") ? call.input_type(4).shape[2] : 0;
  return sizes_of(call.input_type(0).shape, call.input_type(1).shape, call.input_type(2).shape,
                  past);
}
