// Attention as graphs spell it out, fused into one pass: blocks of queries of a head, whose scores
// stay in the cache. Heads are read in place, without transposition.
#include <algorithm>
#include <string>
#include <tenon/operator.hpp>

#include "../../shared/product/multiply_bf16.hpp"
#include "heads.hpp"
#include "loss/row_exponentials.hpp"
#include "matrices.hpp"
#include "onednn/onednn.hpp"

// Texts of rules must be literals, which only macros can concatenate. HEADS transposes rows and
// heads into the order of products.
#define TENON_HEADS(x) "transpose(" x "; axes=[0, 2, 1, 3])"
#define TENON_ATTEND(op, name, scores, parameters)                                                 \
  op.exact_rule(name,                                                                              \
                "transpose(matmul(softmax(" scores "), " TENON_HEADS("v") "); axes=[0, 2, 1, 3])", \
                "fused_attention(q, k, v" parameters ")")
#define TENON_ATTENTION_OF(op, name, products)                                                  \
  TENON_ATTEND(op, name, products, "");                                                         \
  TENON_ATTEND(op, name "_times", "mul(" products ", s!)", ", scale=s");                        \
  TENON_ATTEND(op, name "_over", "div(" products ", s!)", ", scale=s; divide=true");            \
  TENON_ATTEND(op, name "_masked", "add(" products ", m)", ", mask=m");                         \
  TENON_ATTEND(op, name "_times_masked", "add(mul(" products ", s!), m)", ", scale=s, mask=m"); \
  TENON_ATTEND(op, name "_over_masked", "add(div(" products ", s!), m)",                        \
               ", scale=s, mask=m; divide=true")

struct FusedAttention : tenon::Operator {
  bool divide = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "attention: softmax(query @ key^T * scale + mask) @ value for each head; bit-identical to "
        "transpose, matmul, mul or div, add and softmax in sequence; inference on the CPU only, "
        "not differentiable");
    op.types({tenon::f32});
    op.input("query", "[batch, queries, heads, size]");
    op.input("key", "[batch, keys, heads, size]");
    op.input("value", "[batch, keys, heads, value_size]");
    op.input("mask", "broadcasts to [batch, heads, queries, keys]; added to the scores").optional();
    op.input("scale",
             "one element; factor of query @ key^T, or divisor if `divide` is set; default: 1")
        .optional();
    op.output("output", "[batch, queries, heads, value_size]");
    op.param("divide", &FusedAttention::divide,
             "divide query @ key^T by scale; false: multiply by it");
    TENON_ATTENTION_OF(op, "attention",
                       "matmul(" TENON_HEADS("q") ", " TENON_HEADS("k") "; transpose_b=true)");
    TENON_ATTENTION_OF(op, "attention_of_columns",
                       "matmul(" TENON_HEADS("q") ", transpose(k; axes=[0, 2, 3, 1]))");
    op.example({{"query", {2, 3, 2, 5}},
                {"key", {2, 4, 2, 5}},
                {"value", {2, 4, 2, 6}},
                {"mask", {3, 4}},
                {"scale", {1}}},
               {{"divide", true}});
  }

  void infer(tenon::Infer& io) const {
    auto query = four(io, "query"), key = four(io, "key"), value = four(io, "value");
    for (const int axis : {0, 2}) join(io, {&query, &key, &value}, axis);
    join(io, {&query, &key}, 3);
    join(io, {&key, &value}, 1);
    io.set_input("query", query);
    io.set_input("key", key);
    io.set_input("value", value);
    const auto any = tenon::unknown;
    if (io.has_input("scale")) {
      const auto scale = io.input("scale").shape;
      io.require(!scale.has_rank() || scale.size() == 1 || scale.size() == any, "scale is ", scale,
                 " but needs one element");
    }
    if (io.has_input("mask")) {
      const auto mask = io.input("mask").shape;
      const std::int64_t full[] = {query[0], query[2], query[1], key[1]};
      io.require(!mask.has_rank() || (mask.rank() >= 1 && mask.rank() <= 4), "mask is ", mask,
                 " but needs 1 to 4 dimensions");
      for (int axis = -1; mask.has_rank() && axis >= -mask.rank(); --axis)
        io.require(mask[axis] == 1 || mask[axis] == any || full[4 + axis] == any ||
                       mask[axis] == full[4 + axis],
                   "mask is ", mask, ", which does not broadcast to ",
                   tenon::Shape{full[0], full[1], full[2], full[3]});
    }
    io.set_output(0, {query[0], query[1], query[2], value[3]});
  }

  double flops(const tenon::Infer& io) const {
    const auto key = io.input("key").shape, output = io.output(0).shape;
    return 2.0 * static_cast<double>(output[0] * output[1] * output[2] * key[1]) *
           static_cast<double>(key[3] + output[3]);
  }

  std::string algorithm(const tenon::Infer& io) const {
    return algorithm_in<product::F32Arithmetic>(io);
  }

  void forward(const tenon::Call& call) const { attend<product::F32Arithmetic>(call); }

 protected:
  static product::Size scores_of(std::int64_t queries, std::int64_t keys, std::int64_t size) {
    return {queries, keys, size};
  }
  static product::Size output_of(std::int64_t queries, std::int64_t keys, std::int64_t value_size) {
    return {queries, value_size, keys};
  }

  template <class Arithmetic>
  static std::string algorithm_in(const tenon::Infer& io) {
    const auto key = io.input("key").shape, output = io.output(0).shape;
    const auto text = [](const product::Size& size) {
      return choice::text_of(product::choose(Arithmetic::multiplies, size));
    };
    return "for scores " + text(scores_of(output[1], key[1], key[3])) + "; for output " +
           text(output_of(output[1], key[1], output[3]));
  }

  template <class Arithmetic>
  void attend(const tenon::Call& call) const {
    const Pass<Arithmetic> pass(call, divide);
    const auto all = pass.batch * pass.heads * pass.blocks;
    if (pass.output.size() == 0) return;
    call.parallel_for(all, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i)
        pass.run(i / pass.blocks / pass.heads, i / pass.blocks % pass.heads, i % pass.blocks);
    });
  }

 private:
  static tenon::Shape four(const tenon::Infer& io, const char* name) {
    const auto shape = io.input(name).shape;
    io.require(!shape.has_rank() || shape.rank() == 4, name, " is ", shape,
               " but needs four dimensions");
    return shape.has_rank() ? shape : tenon::Shape::of_rank(4);
  }

  /// Propagates the size of an axis that is known for one shape to all shapes.
  static void join(const tenon::Infer& io, std::initializer_list<tenon::Shape*> shapes, int axis) {
    auto size = tenon::unknown;
    for (const auto* shape : shapes) {
      const auto own = (*shape)[axis];
      io.require(size == tenon::unknown || own == tenon::unknown || own == size,
                 "query, key and value have inconsistent shapes: axis ", axis, " has both ", size,
                 " and ", own, " elements");
      if (own != tenon::unknown) size = own;
    }
    for (auto* shape : shapes) shape->set(axis, size);
  }

  template <class Arithmetic>
  struct Pass {
    using Packed = typename Arithmetic::Packed;
    Pass(const tenon::Call& call, bool divide)
        : batch(call.input_type(0).shape[0]),
          heads(call.input_type(0).shape[2]),
          queries(call.input_type(0).shape[1]),
          keys(call.input_type(1).shape[1]),
          size(call.input_type(0).shape[3]),
          value_size(call.input_type(2).shape[3]),
          query(call.input<float>("query").data()),
          key(call.input<float>("key").data()),
          value(call.input<float>("value").data()),
          mask(call.has_input("mask") ? call.input<float>("mask").data() : nullptr),
          scale(call.has_input("scale") ? call.input<float>("scale").data() : nullptr),
          divide(divide),
          output(call.output<float>(0)),
          mask_indexing(attention::MaskIndexing::of(call, keys)) {
      blocks = attention::blocks_of(call, batch * heads, queries, keys);
    }

    void run(std::int64_t sample, std::int64_t head, std::int64_t block) const {
      const auto first = queries * block / blocks, rows = queries * (block + 1) / blocks - first;
      const auto at = [&](std::int64_t count, std::int64_t row, std::int64_t width) {
        return ((sample * count + row) * heads + head) * width;
      };
      const Arithmetic of_scoring(scores_of(queries, keys, size)),
          of_summing(output_of(queries, keys, value_size));
      const gemm::Operand<float> key_rows{key + at(keys, 0, size), heads * size, true};
      const gemm::Operand<float> value_rows{value + at(keys, 0, value_size), heads * value_size,
                                            false};
      // Rows of a head are far apart in memory, so that a cache would hold few of them.
      const auto of_scores = onednn::aligned(static_cast<std::size_t>(rows * keys) * sizeof(float));
      const auto of_keys =
          onednn::aligned(static_cast<std::size_t>(of_scoring.packed_size()) * sizeof(Packed));
      const auto of_values = static_cast<std::size_t>(of_summing.packed_size()) * sizeof(Packed);
      auto* const memory = onednn::scratch(of_scores + of_keys + of_values);
      auto* const scores = reinterpret_cast<float*>(memory);
      auto* const packed_keys = reinterpret_cast<Packed*>(memory + of_scores);
      auto* const packed_values = reinterpret_cast<Packed*>(memory + of_scores + of_keys);
      of_scoring.pack(key_rows, packed_keys);
      of_summing.pack(value_rows, packed_values);
      attention::multiply_in(of_scoring, {query + at(queries, first, size), heads * size, false},
                             {key_rows, packed_keys}, {rows, keys, size}, {scores, keys});
      for (std::int64_t row = 0; row < rows; ++row) {
        const float* const added =
            mask ? mask + mask_indexing.at(sample, head, first + row, 0) : nullptr;
        compute_probabilities(scores + row * keys, added, mask_indexing.one ? 0 : 1);
      }
      attention::multiply_in(of_summing, {scores, keys, false}, {value_rows, packed_values},
                             {rows, value_size, keys},
                             {output.data() + at(queries, first, value_size), heads * value_size});
    }

    std::int64_t batch, heads, queries, keys, size, value_size, blocks = 0;
    const float *query, *key, *value, *mask, *scale;
    bool divide;
    tenon::View<float> output;
    attention::MaskIndexing mask_indexing;

   private:
    void compute_probabilities(float* row, const float* added, std::int64_t step) const {
      tenon::wide(
          [=, n = keys, scaled = scale != nullptr, by = scale ? *scale : 1, divide = divide] {
            if (scaled && divide) {
              for (std::int64_t i = 0; i < n; ++i) row[i] /= by;
            } else if (scaled) {
              for (std::int64_t i = 0; i < n; ++i) row[i] *= by;
            }
            if (added && step == 0) {
              for (std::int64_t i = 0; i < n; ++i) row[i] += *added;
            } else if (added) {
              for (std::int64_t i = 0; i < n; ++i) row[i] += added[i];
            }
            const RowExponentials<float> exponentials(row, n);
            const float norm = 1 / exponentials.sum<true>(exponentials.maximum(), row);
            for (std::int64_t i = 0; i < n; ++i) row[i] *= norm;
          });
    }
  };
};
TENON_OPERATOR(fused_attention, FusedAttention)

#if defined(TENON_WIDE_LEVELS)
struct FusedAttentionInBf16 : FusedAttention {
  static constexpr int priority = 1;
  bool supports(const tenon::Infer& types) const {
    return product::bf16::Bf16Arithmetic::supports(types);
  }
  std::string algorithm(const tenon::Infer& io) const {
    return algorithm_in<product::bf16::Bf16Arithmetic>(io);
  }
  void forward(const tenon::Call& call) const { attend<product::bf16::Bf16Arithmetic>(call); }
};
TENON_KERNEL_VARIANT(fused_attention, cpu, FusedAttentionInBf16)
#endif
