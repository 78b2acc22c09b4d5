// attention on the CPU. Groups of queries of the heads that share a key head are processed as
// matrix products, in float32 or float64.
#include "attention.hpp"

#include <string>
#include <type_traits>
#include <vector>

#include "attention_choice.hpp"
#include "heads.hpp"
#include "loss/row_exponentials.hpp"
#include "matrices.hpp"
#include "rotary_embedding.hpp"
#include "shared/store.hpp"

/// The CUDA kernel is derived from the base class, too, and has other algorithms.
struct AttentionOnCpu : Attention {
  std::string algorithm(const tenon::Infer& io) const {
    return attention_algorithm(io.input("query").dtype);
  }
  std::string backward_algorithm(const tenon::Infer& io) const { return algorithm(io); }
};
TENON_OPERATOR(attention, AttentionOnCpu)
TENON_OPERATOR(rotary_embedding, RotaryEmbedding)

namespace attention {

/// The mask, which is added to the scores.
template <class W>
struct Mask : MaskIndexing {
  std::vector<W> values;

  /// Adds the mask of the visible keys. Returns whether no key remains visible.
  bool add(std::int64_t sample, std::int64_t head, std::int64_t query,
           const AttentionWindow::Keys& seen, W* row) const {
    if (!present) return seen.first == seen.last;
    const W* const added = values.data() + at(sample, head, query, 0);
    const auto end = one ? seen.last : std::clamp(keys, seen.first, seen.last);
    W maximum = never<W>;
    for (auto key = seen.first; key < end; ++key) {
      const W more = added[one ? 0 : key];
      maximum = more > maximum || more != more ? more : maximum;
      row[key] += more;
    }
    std::fill(row + end, row + seen.last, never<W>);
    return maximum == never<W>;
  }
};

template <class W>
Mask<W> mask_of(const tenon::Call& call, std::int64_t all) {
  Mask<W> mask{MaskIndexing::of(call, all), {}};
  if (!mask.present) return mask;
  const auto type = call.input_type(3);
  mask.values.resize(static_cast<std::size_t>(type.shape.size()));
  tenon::visit<tenon::floating + tenon::Types{tenon::boolean}>(type.dtype, [&]<class M>() {
    const auto view = call.input<M>("mask");
    for (std::int64_t i = 0; i < view.size(); ++i) {
      auto& to = mask.values[static_cast<std::size_t>(i)];
      if constexpr (std::is_same_v<M, bool>)
        to = view[i] ? W(0) : never<W>;
      else
        to = static_cast<W>(view[i]);
    }
  });
  return mask;
}

/// The rows of one head: past, then new ones.
template <class T, class W>
void gather(const T* past, std::int64_t past_rows, const T* data, const Heads& heads,
            std::int64_t sample, std::int64_t head, W* to) {
  const auto all = past_rows + heads.rows;
  for (std::int64_t row = 0; row < all; ++row) {
    const T* const from =
        row < past_rows ? past + ((sample * heads.heads + head) * past_rows + row) * heads.size
                        : data + heads.at(sample, head, row - past_rows);
    for (std::int64_t k = 0; k < heads.size; ++k)
      to[row * heads.size + k] = static_cast<W>(from[k]);
  }
}

template <class T>
void copy_present(const tenon::Call& call, int output, const char* past_name, const T* data,
                  const Heads& heads, std::int64_t batch, std::int64_t past_rows) {
  if (call.write(output) == tenon::Write::none) return;
  T* const to = call.output<T>(output).data();
  const T* const past = past_rows > 0 ? call.input<T>(past_name).data() : nullptr;
  const auto all = past_rows + heads.rows;
  for (std::int64_t i = 0; i < batch * heads.heads; ++i) {
    if (past)
      std::copy_n(past + i * past_rows * heads.size, past_rows * heads.size,
                  to + i * all * heads.size);
    for (std::int64_t row = 0; row < heads.rows; ++row)
      std::copy_n(data + heads.at(i / heads.heads, i % heads.heads, row), heads.size,
                  to + (i * all + past_rows + row) * heads.size);
  }
}

/// The stages of scores from products to softmax, row by row.
template <class W>
class RowOfScores {
 public:
  RowOfScores(const Attention& op, const tenon::Call& call, const Attention::Sizes& sizes)
      : scale(static_cast<W>(op.scale_for(sizes.size))),
        cap(static_cast<W>(op.softcap)),
        window_(op.window()),
        sizes_(sizes),
        mask_(mask_of<W>(call, sizes.all())),
        lengths_(call.has_input("lengths") ? call.input<std::int64_t>("lengths").data() : nullptr) {
  }

  const W scale, cap;

  AttentionWindow::Keys seen(std::int64_t sample, std::int64_t at) const {
    const auto length = lengths_ ? std::max<std::int64_t>(lengths_[sample], 0) : -1;
    return window_.seen(at + sizes_.first_query(length), sizes_.all(), length);
  }

  /// Turns row[n] from scaled products into the softmax. Entries of keys outside of the window may
  /// be anything. All are 0 if no key is visible. Calls `show` with the row at each stage.
  template <class Show>
  void finish(std::int64_t sample, std::int64_t head, std::int64_t at, W* row,
              const Show& show) const {
    const auto all = sizes_.all();
    const auto fill_unseen = [&, seen = seen(sample, at)](W value) {
      std::fill(row, row + seen.first, value);
      std::fill(row + seen.last, row + all, value);
      return seen;
    };
    show(Scores::scaled);
    if (cap > 0)
      tenon::elementwise::for_each(all, [=, cap = cap](std::int64_t n) {
        row[n] = cap * tenon::elementwise::tanh(row[n] / cap);
      });
    show(Scores::capped);
    const auto seen = fill_unseen(never<W>);
    const bool nothing = mask_.add(sample, head, at, seen, row);
    show(Scores::masked);
    fill_unseen(0);
    if (nothing)
      std::fill(row + seen.first, row + seen.last, W(0));
    else
      softmax(row + seen.first, seen.last - seen.first);
    show(Scores::softmax);
  }

 private:
  static void softmax(W* row, std::int64_t n) {
    tenon::wide([=] {
      const RowExponentials<W> exponentials(row, n);
      const W sum = exponentials.template sum<true>(exponentials.maximum(), row);
      for (std::int64_t i = 0; i < n; ++i) row[i] /= sum;
    });
  }

  const AttentionWindow window_;
  const Attention::Sizes& sizes_;
  const Mask<W> mask_;
  const std::int64_t* const lengths_;
};

/// The tensors of a call.
template <class T>
struct CallTensors {
  const T *query, *key, *value, *past_key = nullptr, *past_value = nullptr;
  Heads queries, keys, values, outputs;

  CallTensors(const tenon::Call& call, const Attention::Sizes& sizes)
      : query(call.input<T>(0).data()),
        key(call.input<T>(1).data()),
        value(call.input<T>(2).data()),
        queries{sizes.q_heads, sizes.queries, sizes.size, sizes.flat},
        keys{sizes.kv_heads, sizes.keys, sizes.size, sizes.flat},
        values{sizes.kv_heads, sizes.keys, sizes.value_size, sizes.flat},
        outputs{sizes.q_heads, sizes.queries, sizes.value_size, sizes.flat} {
    if (call.has_input("past_key")) past_key = call.input<T>("past_key").data();
    if (call.has_input("past_value")) past_value = call.input<T>("past_value").data();
  }
};

/// A block of queries of the heads that share key head `kv_head`.
struct QueryBlock {
  std::int64_t sample, kv_head, first, end;
  std::int64_t count() const { return end - first; }
};

template <class T>
class Pass {
 public:
  using W = Wide<T>;

  Pass(const Attention& op, const tenon::Call& call, const Attention::Sizes& sizes)
      : tensors(call, sizes), rows(op, call, sizes), op_(op), sizes_(sizes) {
    blocks_ =
        blocks_of(call, sizes.batch * sizes.kv_heads, sizes.group() * sizes.queries, sizes.all());
  }

  const CallTensors<T> tensors;
  const RowOfScores<W> rows;

  /// Number of blocks for each key head of each sample.
  std::int64_t blocks() const { return blocks_; }
  QueryBlock block(std::int64_t i) const {
    const auto all = sizes_.group() * sizes_.queries, head = i / blocks_;
    return {head / sizes_.kv_heads, head % sizes_.kv_heads, all * (i % blocks_) / blocks_,
            all * (i % blocks_ + 1) / blocks_};
  }

  /// Calls body(row in the block, head, query), and the row among all heads' queries.
  template <class Body>
  void for_each_row(const QueryBlock& block, const Body& body) const {
    for (auto row = block.first; row < block.end; ++row) {
      const auto head = block.kv_head * sizes_.group() + row / sizes_.queries,
                 at = row % sizes_.queries;
      body(row - block.first, head, at,
           (block.sample * sizes_.q_heads + head) * sizes_.queries + at);
    }
  }

  /// The union of the keys visible to the block's queries.
  AttentionWindow::Keys seen(const QueryBlock& block) const {
    AttentionWindow::Keys seen{sizes_.all(), 0};
    for_each_row(block, [&](std::int64_t, std::int64_t, std::int64_t at, std::int64_t) {
      const auto own = rows.seen(block.sample, at);
      if (own.first < own.last)
        seen = {std::min(seen.first, own.first), std::max(seen.last, own.last)};
    });
    return seen.first < seen.last ? seen : AttentionWindow::Keys{0, 0};
  }

  void gather_keys(const QueryBlock& block, W* to) const {
    gather(tensors.past_key, sizes_.past, tensors.key, tensors.keys, block.sample, block.kv_head,
           to);
  }
  void gather_values(const QueryBlock& block, W* to) const {
    gather(tensors.past_value, sizes_.past, tensors.value, tensors.values, block.sample,
           block.kv_head, to);
  }

  /// Copies the queries, multiplied by the scale.
  void gather_queries(const QueryBlock& block, W* to) const {
    for_each_row(block, [&](std::int64_t i, std::int64_t head, std::int64_t at, std::int64_t) {
      const T* const from = tensors.query + tensors.queries.at(block.sample, head, at);
      for (std::int64_t k = 0; k < sizes_.size; ++k)
        to[i * sizes_.size + k] = static_cast<W>(from[k]) * rows.scale;
    });
  }

  /// Computes the softmax from queries and keys; only keys in `shown` are multiplied. Calls
  /// show(stage, row, index in the block, index among all rows).
  template <class Show>
  void compute_probabilities(const QueryBlock& block, const W* queries, const W* keys,
                             const AttentionWindow::Keys& shown, W* probabilities,
                             const Show& show) const {
    const auto all = sizes_.all(), size = sizes_.size;
    multiply<W>({queries, size, false}, {keys + shown.first * size, size, true},
                {block.count(), shown.last - shown.first, size},
                {probabilities + shown.first, all});
    for_each_row(block, [&](std::int64_t i, std::int64_t head, std::int64_t at,
                            std::int64_t row_index) {
      W* const row = probabilities + i * all;
      rows.finish(block.sample, head, at, row, [&](Scores what) { show(what, row, i, row_index); });
    });
  }

  void forward(const QueryBlock& block, T* output, T* scores) const {
    const auto all = sizes_.all(), count = block.count(), size = sizes_.size,
               width = sizes_.value_size;
    const auto [probabilities, keys, values, queries, results] =
        memory_of<W>({count * all, all * size, all * width, count * size, count * width});
    const auto seen = this->seen(block);
    gather_keys(block, keys);
    gather_queries(block, queries);
    compute_probabilities(
        block, queries, keys, scores ? AttentionWindow::Keys{0, all} : seen, probabilities,
        [&](Scores what, const W* row, std::int64_t, std::int64_t row_index) {
          for (std::int64_t n = 0; scores && op_.scores_are == what && n < all; ++n)
            scores[row_index * all + n] = T(row[n]);
        });
    if (!output) return;
    gather_values(block, values);
    multiply<W>({probabilities + seen.first, all, false},
                {values + seen.first * width, width, false}, {count, width, seen.last - seen.first},
                {results, width});
    for_each_row(block, [&, results = results](std::int64_t i, std::int64_t head, std::int64_t at,
                                               std::int64_t) {
      T* const to = output + tensors.outputs.at(block.sample, head, at);
      for (std::int64_t k = 0; k < width; ++k) to[k] = T(results[i * width + k]);
    });
  }

 private:
  const Attention& op_;
  const Attention::Sizes& sizes_;
  std::int64_t blocks_;
};

template <class T>
void forward(const Attention& op, const tenon::Call& call, const Attention::Sizes& sizes) {
  const Pass<T> pass(op, call, sizes);
  copy_present(call, 1, "past_key", pass.tensors.key, pass.tensors.keys, sizes.batch, sizes.past);
  copy_present(call, 2, "past_value", pass.tensors.value, pass.tensors.values, sizes.batch,
               sizes.past);
  T* const output = call.write(0) != tenon::Write::none ? call.output<T>(0).data() : nullptr;
  T* const scores = call.write(3) != tenon::Write::none ? call.output<T>(3).data() : nullptr;
  if (!output && !scores) return;
  call.parallel_for(sizes.batch * sizes.kv_heads * pass.blocks(), 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (auto i = begin; i < end; ++i)
                        pass.forward(pass.block(i), output, scores);
                    });
}

/// Writes the gradient of an input if it is requested; value(i) is its element i.
template <class T, class Value>
void put(const tenon::Call& call, const char* name, int input, const Value& value) {
  if (!call.has_input(name) || call.write(input) == tenon::Write::none) return;
  const auto to = call.input_grad<T>(name);
  for (std::int64_t i = 0; i < to.size(); ++i) store(call.write(input), to.data()[i], value(i));
}

/// The gradient of the mask: each element sums the gradients of all scores it was added to, in
/// order.
template <class W>
void put_mask(const tenon::Call& call, const std::vector<W>& scores,
              const Attention::Sizes& sizes) {
  const auto type = call.input_type(3);
  const auto mask = mask_of<W>(call, sizes.all());
  std::vector<W> sums(mask.values.size());
  for (std::int64_t row = 0; row < sizes.batch * sizes.q_heads * sizes.queries; ++row) {
    const auto sample = row / sizes.queries / sizes.q_heads,
               head = row / sizes.queries % sizes.q_heads, at = row % sizes.queries;
    const auto first = sample * mask.strides[0] + head * mask.strides[1] + at * mask.strides[2];
    for (std::int64_t n = 0; n < (mask.one ? sizes.all() : mask.keys); ++n)
      sums[static_cast<std::size_t>(first + (mask.one ? 0 : n))] +=
          scores[static_cast<std::size_t>(row * sizes.all() + n)];
  }
  tenon::visit<tenon::floating>(type.dtype, [&]<class M>() {
    put<M>(call, "mask", 3, [&](std::int64_t i) { return sums[static_cast<std::size_t>(i)]; });
  });
}

template <class T>
void backward(const Attention& op, const tenon::Call& call, const Attention::Sizes& sizes) {
  using W = Wide<T>;
  const Pass<T> pass(op, call, sizes);
  const auto& tensors = pass.tensors;
  const auto grad_or_null = [&](int output) {
    return call.has_output_grad(output) ? call.output_grad<T>(output).data() : nullptr;
  };
  const T *const d_output = grad_or_null(0), *const d_present_key = grad_or_null(1),
                 *const d_present_value = grad_or_null(2), *const d_scores = grad_or_null(3);
  const auto all = sizes.all(), size = sizes.size, value_size = sizes.value_size;
  const bool needs_mask_grad = call.has_input("mask") && call.write(3) != tenon::Write::none;
  const auto zeros = [](std::int64_t count) {
    return std::vector<W>(static_cast<std::size_t>(count), W(0));
  };
  auto d_masked = zeros(needs_mask_grad ? sizes.batch * sizes.q_heads * sizes.queries * all : 0);
  auto d_query = zeros(sizes.batch * sizes.q_heads * sizes.queries * size);
  // gradients of keys and values including past ones, [batch, kv_heads, all, size]
  auto d_key = zeros(sizes.batch * sizes.kv_heads * all * size),
       d_value = zeros(sizes.batch * sizes.kv_heads * all * value_size);

  const auto run = [&](const QueryBlock& block) {
    const auto count = block.count(), i = block.sample * sizes.kv_heads + block.kv_head;
    W *const dk = d_key.data() + i * all * size, *const dv = d_value.data() + i * all * value_size;
    const auto [probabilities, slopes, d, keys, values, queries, dy, dq] =
        memory_of<W>({count * all, pass.rows.cap > 0 ? count * all : 0, count * all, all * size,
                      all * value_size, count * size, count * value_size, count * size});
    pass.gather_keys(block, keys);
    pass.gather_values(block, values);
    pass.gather_queries(block, queries);
    pass.compute_probabilities(block, queries, keys, {0, all}, probabilities,
                               [&, cap = pass.rows.cap, slopes = slopes](
                                   Scores what, const W* row, std::int64_t k, std::int64_t) {
                                 if (what != Scores::capped)
                                   return;  // slope of the softcap, while the row holds its result
                                 for (std::int64_t n = 0; cap > 0 && n < all; ++n)
                                   slopes[k * all + n] = 1 - row[n] / cap * (row[n] / cap);
                               });
    if (d_output) {
      pass.for_each_row(
          block, [&, dy = dy](std::int64_t k, std::int64_t head, std::int64_t at, std::int64_t) {
            const T* const from = d_output + tensors.outputs.at(block.sample, head, at);
            for (std::int64_t s = 0; s < value_size; ++s)
              dy[k * value_size + s] = static_cast<W>(from[s]);
          });
      multiply<W>({dy, value_size, false}, {values, value_size, true}, {count, all, value_size},
                  {d, all});
      multiply<W>({probabilities, all, true}, {dy, value_size, false}, {all, value_size, count},
                  {dv, value_size}, true);
    } else {
      std::fill_n(d, count * all, W(0));
    }
    pass.for_each_row(
        block, [&, probabilities = probabilities, slopes = slopes, d = d](
                   std::int64_t k, std::int64_t, std::int64_t, std::int64_t row_index) {
          const W* const row = probabilities + k * all;
          W* const own = d + k * all;
          const auto add_shown = [&](Scores what) {
            for (std::int64_t n = 0; d_scores && op.scores_are == what && n < all; ++n)
              own[n] += static_cast<W>(d_scores[row_index * all + n]);
          };
          add_shown(Scores::softmax);
          W sum = 0;
          for (std::int64_t n = 0; n < all; ++n) sum += row[n] == 0 ? W(0) : row[n] * own[n];
          for (std::int64_t n = 0; n < all; ++n)
            own[n] = row[n] == 0 ? W(0) : row[n] * (own[n] - sum);
          add_shown(Scores::masked);
          if (needs_mask_grad) std::copy_n(own, all, d_masked.data() + row_index * all);
          add_shown(Scores::capped);
          for (std::int64_t n = 0; pass.rows.cap > 0 && n < all; ++n) own[n] *= slopes[k * all + n];
          add_shown(Scores::scaled);
        });
    multiply<W>({d, all, false}, {keys, size, false}, {count, size, all}, {dq, size});
    multiply<W>({d, all, true}, {queries, size, false}, {all, size, count}, {dk, size}, true);
    pass.for_each_row(
        block, [&, dq = dq](std::int64_t k, std::int64_t head, std::int64_t at, std::int64_t) {
          W* const to = d_query.data() + tensors.queries.at(block.sample, head, at);
          for (std::int64_t s = 0; s < size; ++s) to[s] = dq[k * size + s] * pass.rows.scale;
        });
  };
  call.parallel_for(sizes.batch * sizes.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      for (std::int64_t k = 0; d_present_key && k < all * size; ++k)
        d_key[static_cast<std::size_t>(i * all * size + k)] =
            static_cast<W>(d_present_key[i * all * size + k]);
      for (std::int64_t k = 0; d_present_value && k < all * value_size; ++k)
        d_value[static_cast<std::size_t>(i * all * value_size + k)] =
            static_cast<W>(d_present_value[i * all * value_size + k]);
      for (std::int64_t block = 0; block < pass.blocks(); ++block)
        run(pass.block(i * pass.blocks() + block));
    }
  });

  const auto key_at = [&](std::int64_t sample_head, std::int64_t row, std::int64_t s) {
    return d_key[static_cast<std::size_t>((sample_head * all + row) * size + s)];
  };
  const auto value_at = [&](std::int64_t sample_head, std::int64_t row, std::int64_t s) {
    return d_value[static_cast<std::size_t>((sample_head * all + row) * value_size + s)];
  };
  // Element i of [batch, heads, rows, width] or [batch, rows, heads, width], after `past` rows.
  const auto at = [&](const auto& get, const Heads& heads, std::int64_t past, std::int64_t i) {
    const auto s = i % heads.size, rest = i / heads.size;
    const auto head = heads.flat ? rest % heads.heads : rest / heads.rows % heads.heads;
    const auto row = heads.flat ? rest / heads.heads % heads.rows : rest % heads.rows;
    return get(rest / heads.heads / heads.rows * heads.heads + head, past + row, s);
  };
  const auto past_heads = [&](const Heads& heads) {
    return Heads{heads.heads, sizes.past, heads.size, false};
  };
  put<T>(call, "query", 0, [&](std::int64_t i) { return d_query[static_cast<std::size_t>(i)]; });
  put<T>(call, "key", 1, [&](std::int64_t i) { return at(key_at, tensors.keys, sizes.past, i); });
  put<T>(call, "value", 2,
         [&](std::int64_t i) { return at(value_at, tensors.values, sizes.past, i); });
  put<T>(call, "past_key", 4,
         [&](std::int64_t i) { return at(key_at, past_heads(tensors.keys), 0, i); });
  put<T>(call, "past_value", 5,
         [&](std::int64_t i) { return at(value_at, past_heads(tensors.values), 0, i); });
  if (needs_mask_grad) put_mask<W>(call, d_masked, sizes);
}

}  // namespace attention

void Attention::forward(const tenon::Call& call) const {
  const auto sizes = sizes_of(call);
  if (sizes.batch == 0) return;
  tenon::visit<tenon::floating>(call.input_type(0).dtype,
                                [&]<class T>() { attention::forward<T>(*this, call, sizes); });
}

void Attention::backward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
    attention::backward<T>(*this, call, sizes_of(call));
  });
}
