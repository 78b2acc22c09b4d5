// Scaled dot-product attention.
#pragma once
#include <tenon/operator.hpp>

enum class Scores { scaled, capped, masked, softmax };

struct Attention : tenon::Operator {
  double scale = 0, softcap = 0;
  std::int64_t q_heads = 0, kv_heads = 0, left_window = -1, right_window = -1;
  bool causal = false;
  Scores scores_are = Scores::scaled;

  static constexpr void describe(auto& op) {
    op.doc("softmax(scale query key^T + mask) value for each head, computed in float32 at least and rounded once");
    op.input("query", "[batch, q_heads, queries, size], or [batch, queries, q_heads size]");
    op.input("key", "[batch, kv_heads, keys, size], or [batch, keys, kv_heads size]; kv_heads divides q_heads");
    op.input("value", "[batch, kv_heads, keys, value_size], or [batch, keys, kv_heads value_size]");
    op.input("mask", "added to the scores, or false where a query does not see a key; broadcasts to [batch, q_heads, queries, keys]")
        .optional()
        .types(tenon::floating + tenon::Types{tenon::boolean});
    op.input("past_key", "[batch, kv_heads, past, size], before key").optional();
    op.input("past_value", "[batch, kv_heads, past, value_size], before value").optional();
    op.input("lengths", "[batch], keys of each sample that are no padding").optional().types({tenon::i64});
    op.output("output", "[batch, q_heads, queries, value_size], or [batch, queries, q_heads value_size]");
    op.output("present_key", "past_key and key, [batch, kv_heads, past + keys, size]");
    op.output("present_value", "past_value and value, [batch, kv_heads, past + keys, value_size]");
    op.output("scores", "[batch, q_heads, queries, past + keys], as scores_are says");
    op.param("q_heads", &Attention::q_heads, "heads of query where it has three dimensions").at_least(0);
    op.param("kv_heads", &Attention::kv_heads, "heads of key and value where they have three dimensions").at_least(0);
    op.param("scale", &Attention::scale, "of the products; 0: 1 / sqrt(size)").at_least(0);
    op.param("softcap", &Attention::softcap, "scores are softcap * tanh(score / softcap); 0: they are not").at_least(0);
    op.param("causal", &Attention::causal, "query i sees no key behind i, counted from the end of past, or of lengths");
    op.param("left_window", &Attention::left_window, "keys that a query sees before its own; -1: all").at_least(-1);
    op.param("right_window", &Attention::right_window, "keys that a query sees behind its own; -1: all").at_least(-1);
    op.param("scores_are", &Attention::scores_are, "what output scores has: scaled products, capped, with mask, or behind softmax")
        .one_of({{"scaled", Scores::scaled}, {"capped", Scores::capped}, {"masked", Scores::masked}, {"softmax", Scores::softmax}});
    op.backward_reads("query", "key", "value", "mask", "past_key", "past_value", "lengths");
    op.example({{"query", {2, 4, 3, 5}}, {"key", {2, 2, 6, 5}}, {"value", {2, 2, 6, 7}}}, {{"causal", true}});
    op.example({{"query", {2, 3, 8}}, {"key", {2, 6, 4}}, {"value", {2, 6, 4}}, {"mask", {3, 6}}}, {{"q_heads", 4}, {"kv_heads", 2}});
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

  /// Sizes of a call, where they are known.
  struct Sizes {
    std::int64_t batch, q_heads, kv_heads, queries, keys, past, size, value_size;
    bool flat;  ///< three dimensions
    std::int64_t all() const { return past + keys; }
  };
  Sizes sizes_of(const tenon::Call& call) const;
  Sizes sizes_of(const tenon::Shape& query, const tenon::Shape& key, const tenon::Shape& value, std::int64_t past) const;
};
