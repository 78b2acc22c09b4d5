// attention on the CPU: each head of each sample by itself.
#include "attention.hpp"

#include <type_traits>
#include <vector>

#include "heads.hpp"
#include "shared/store.hpp"

TENON_OPERATOR(attention, Attention)

namespace attention {

/// What is added to the scores.
template <class W>
struct Mask : MaskPlaces {
  std::vector<W> values;

  W operator()(std::int64_t sample, std::int64_t head, std::int64_t query, std::int64_t key) const {
    if (!given) return 0;
    return ends_before(key) ? never<W> : values[static_cast<std::size_t>(at(sample, head, query, key))];
  }
};

template <class W>
Mask<W> mask_of(const tenon::Call& call, std::int64_t all) {
  Mask<W> mask{MaskPlaces::of(call, all), {}};
  if (!mask.given) return mask;
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

/// past and what is new, of one head, as rows; or with rows and columns changed.
template <class T, class W>
void gather(const T* past, std::int64_t past_rows, const T* data, const Heads& heads, std::int64_t sample, std::int64_t head, bool columns,
            W* to) {
  const auto all = past_rows + heads.rows;
  for (std::int64_t row = 0; row < all; ++row) {
    const T* const from = row < past_rows ? past + ((sample * heads.heads + head) * past_rows + row) * heads.size
                                          : data + heads.at(sample, head, row - past_rows);
    for (std::int64_t k = 0; k < heads.size; ++k) to[columns ? k * all + row : row * heads.size + k] = static_cast<W>(from[k]);
  }
}

template <class T>
void copy_present(const tenon::Call& call, int output, const char* past_name, const T* data, const Heads& heads, std::int64_t batch,
                  std::int64_t past_rows) {
  if (call.write(output) == tenon::Write::none) return;
  T* const to = call.output<T>(output).data();
  const T* const past = past_rows > 0 ? call.input<T>(past_name).data() : nullptr;
  const auto all = past_rows + heads.rows;
  for (std::int64_t i = 0; i < batch * heads.heads; ++i) {
    if (past) std::copy_n(past + i * past_rows * heads.size, past_rows * heads.size, to + i * all * heads.size);
    for (std::int64_t row = 0; row < heads.rows; ++row)
      std::copy_n(data + heads.at(i / heads.heads, i % heads.heads, row), heads.size, to + (i * all + past_rows + row) * heads.size);
  }
}

/// Softmax of a row in place. Where nothing may be seen, all is 0.
template <class W>
void softmax(W* row, std::int64_t n, bool nothing) {
  W most = -std::numeric_limits<W>::infinity(), sum = 0;
  for (std::int64_t i = 0; i < n; ++i) most = row[i] > most || std::isnan(row[i]) ? row[i] : most;
  if (nothing || (std::isinf(most) && most < 0)) return void(std::fill_n(row, n, W(0)));
  for (std::int64_t i = 0; i < n; ++i) sum += row[i] = std::exp(row[i] - most);
  for (std::int64_t i = 0; i < n; ++i) row[i] /= sum;
}

/// One row of scores after the other.
template <class W>
class RowOfScores {
 public:
  RowOfScores(const Attention& op, const tenon::Call& call, const Attention::Sizes& sizes)
      : scale(static_cast<W>(op.scale_for(sizes.size))),
        cap(static_cast<W>(op.softcap)),
        sight_(op.sight()),
        sizes_(sizes),
        mask_(mask_of<W>(call, sizes.all())),
        lengths_(call.has_input("lengths") ? call.input<std::int64_t>("lengths").data() : nullptr) {}

  const W scale, cap;

  /// row[n]: the softmax. k: [size, all]. `show` gets the row in each of its states.
  template <class T, class Show>
  void make(std::int64_t sample, std::int64_t head, std::int64_t at, const T* q, const W* k, W* row, const Show& show) const {
    const auto all = sizes_.all(), length = lengths_ ? std::max<std::int64_t>(lengths_[sample], 0) : -1,
               own = at + sizes_.first_query(length);
    std::fill_n(row, all, W(0));
    for (std::int64_t s = 0; s < sizes_.size; ++s) {
      const W factor = static_cast<W>(q[s]) * scale;
      const W* const column = k + s * all;
      for (std::int64_t n = 0; n < all; ++n) row[n] += factor * column[n];
    }
    show(Scores::scaled);
    for (std::int64_t n = 0; cap > 0 && n < all; ++n) row[n] = cap * std::tanh(row[n] / cap);
    show(Scores::capped);
    bool nothing = true;
    for (std::int64_t n = 0; n < all; ++n) {
      const W added = sight_.sees(own, n, length) ? mask_(sample, head, at, n) : never<W>;
      nothing = nothing && added == never<W>;
      row[n] += added;
    }
    show(Scores::masked);
    softmax(row, all, nothing);
    show(Scores::softmax);
  }

 private:
  const Sight sight_;
  const Attention::Sizes& sizes_;
  const Mask<W> mask_;
  const std::int64_t* const lengths_;
};

/// The tensors of a call.
template <class T>
struct Given {
  const T *query, *key, *value, *past_key = nullptr, *past_value = nullptr;
  Heads queries, keys, values, outputs;

  Given(const tenon::Call& call, const Attention::Sizes& sizes)
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

template <class T>
void forward(const Attention& op, const tenon::Call& call, const Attention::Sizes& sizes) {
  using W = Wide<T>;
  const Given<T> of(call, sizes);
  copy_present(call, 1, "past_key", of.key, of.keys, sizes.batch, sizes.past);
  copy_present(call, 2, "past_value", of.value, of.values, sizes.batch, sizes.past);
  T* const output = call.write(0) != tenon::Write::none ? call.output<T>(0).data() : nullptr;
  T* const scores = call.write(3) != tenon::Write::none ? call.output<T>(3).data() : nullptr;
  if (!output && !scores) return;
  const RowOfScores<W> rows(op, call, sizes);
  const auto all = sizes.all(), group = sizes.q_heads / sizes.kv_heads;
  call.parallel_for(sizes.batch * sizes.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<W> memory(static_cast<std::size_t>(all * (sizes.size + sizes.value_size + 1) + sizes.value_size));
    W *const k = memory.data(), *const v = k + all * sizes.size, *const row = v + all * sizes.value_size, *const sum = row + all;
    for (auto i = begin; i < end; ++i) {
      const auto sample = i / sizes.kv_heads, kv_head = i % sizes.kv_heads;
      gather(of.past_key, sizes.past, of.key, of.keys, sample, kv_head, true, k);
      gather(of.past_value, sizes.past, of.value, of.values, sample, kv_head, false, v);
      for (std::int64_t j = 0; j < group * sizes.queries; ++j) {
        const auto head = kv_head * group + j / sizes.queries, at = j % sizes.queries;
        T* const to = scores ? scores + ((sample * sizes.q_heads + head) * sizes.queries + at) * all : nullptr;
        rows.make(sample, head, at, of.query + of.queries.at(sample, head, at), k, row, [&](Scores what) {
          for (std::int64_t n = 0; to && op.scores_are == what && n < all; ++n) to[n] = T(row[n]);
        });
        if (!output) continue;
        std::fill_n(sum, sizes.value_size, W(0));
        for (std::int64_t n = 0; n < all; ++n) {
          if (row[n] == 0) continue;
          for (std::int64_t s = 0; s < sizes.value_size; ++s) sum[s] += row[n] * v[n * sizes.value_size + s];
        }
        T* const result = output + of.outputs.at(sample, head, at);
        for (std::int64_t s = 0; s < sizes.value_size; ++s) result[s] = T(sum[s]);
      }
    }
  });
}

/// Writes the gradient of an input, where it is wanted; value(i) of each element.
template <class T, class Value>
void put(const tenon::Call& call, const char* name, int input, const Value& value) {
  if (!call.has_input(name) || call.write(input) == tenon::Write::none) return;
  const auto to = call.input_grad<T>(name);
  for (std::int64_t i = 0; i < to.size(); ++i) store(call.write(input), to.data()[i], value(i));
}

/// The gradient of a mask: the sum of those of all scores that an element was added to, in their order.
template <class W>
void put_mask(const tenon::Call& call, const std::vector<W>& scores, const Attention::Sizes& sizes) {
  const auto type = call.input_type(3);
  const auto mask = mask_of<W>(call, sizes.all());
  std::vector<W> sums(mask.values.size());
  for (std::int64_t row = 0; row < sizes.batch * sizes.q_heads * sizes.queries; ++row) {
    const auto sample = row / sizes.queries / sizes.q_heads, head = row / sizes.queries % sizes.q_heads, at = row % sizes.queries;
    const auto first = sample * mask.strides[0] + head * mask.strides[1] + at * mask.strides[2];
    for (std::int64_t n = 0; n < (mask.one ? sizes.all() : mask.keys); ++n)
      sums[static_cast<std::size_t>(first + (mask.one ? 0 : n))] += scores[static_cast<std::size_t>(row * sizes.all() + n)];
  }
  tenon::visit<tenon::floating>(type.dtype, [&]<class M>() {
    put<M>(call, "mask", 3, [&](std::int64_t i) { return static_cast<Wide<M>>(sums[static_cast<std::size_t>(i)]); });
  });
}

template <class T>
void backward(const Attention& op, const tenon::Call& call, const Attention::Sizes& sizes) {
  using W = Wide<T>;
  const Given<T> of(call, sizes);
  const auto given = [&](int output) { return call.has_output_grad(output) ? call.output_grad<T>(output).data() : nullptr; };
  const T *const d_output = given(0), *const d_present_key = given(1), *const d_present_value = given(2), *const d_scores = given(3);
  const RowOfScores<W> rows(op, call, sizes);
  const auto all = sizes.all(), group = sizes.q_heads / sizes.kv_heads, size = sizes.size, value_size = sizes.value_size;
  const bool wants_mask = call.has_input("mask") && call.write(3) != tenon::Write::none;
  const auto zeros = [](std::int64_t count) { return std::vector<W>(static_cast<std::size_t>(count), W(0)); };
  auto d_masked = zeros(wants_mask ? sizes.batch * sizes.q_heads * sizes.queries * all : 0);
  auto d_query = zeros(sizes.batch * sizes.q_heads * sizes.queries * size);
  // of keys with what was before them, [batch, kv_heads, size, all], and of values, [batch, kv_heads, all, value_size]
  auto d_key = zeros(sizes.batch * sizes.kv_heads * all * size), d_value = zeros(sizes.batch * sizes.kv_heads * all * value_size);
  call.parallel_for(sizes.batch * sizes.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    auto memory = zeros(all * (size + value_size + 3));
    W *const k = memory.data(), *const v = k + all * size, *const row = v + all * value_size, *const slope = row + all;
    W* const d = slope + all;
    for (auto i = begin; i < end; ++i) {
      const auto sample = i / sizes.kv_heads, kv_head = i % sizes.kv_heads;
      gather(of.past_key, sizes.past, of.key, of.keys, sample, kv_head, true, k);
      gather(of.past_value, sizes.past, of.value, of.values, sample, kv_head, false, v);
      W *const dk = d_key.data() + i * all * size, *const dv = d_value.data() + i * all * value_size;
      for (std::int64_t n = 0; n < all; ++n) {
        for (std::int64_t s = 0; d_present_key && s < size; ++s) dk[s * all + n] = static_cast<W>(d_present_key[(i * all + n) * size + s]);
        for (std::int64_t s = 0; d_present_value && s < value_size; ++s)
          dv[n * value_size + s] = static_cast<W>(d_present_value[(i * all + n) * value_size + s]);
      }
      for (std::int64_t j = 0; j < group * sizes.queries; ++j) {
        const auto head = kv_head * group + j / sizes.queries, at = j % sizes.queries;
        const auto number = (sample * sizes.q_heads + head) * sizes.queries + at;
        const T* const q = of.query + of.queries.at(sample, head, at);
        rows.make(sample, head, at, q, k, row, [&](Scores what) {  // of the softcap, while the row has what it makes
          if (what != Scores::capped) return;
          for (std::int64_t n = 0; n < all; ++n) slope[n] = rows.cap > 0 ? 1 - row[n] / rows.cap * (row[n] / rows.cap) : W(1);
        });
        const auto add_shown = [&](Scores what) {
          for (std::int64_t n = 0; d_scores && op.scores_are == what && n < all; ++n) d[n] += static_cast<W>(d_scores[number * all + n]);
        };
        std::fill_n(d, all, W(0));
        const T* const dy = d_output ? d_output + of.outputs.at(sample, head, at) : nullptr;
        for (std::int64_t n = 0; dy && n < all; ++n)
          for (std::int64_t s = 0; s < value_size; ++s) {
            d[n] += static_cast<W>(dy[s]) * v[n * value_size + s];
            dv[n * value_size + s] += row[n] * static_cast<W>(dy[s]);
          }
        add_shown(Scores::softmax);
        W sum = 0;
        for (std::int64_t n = 0; n < all; ++n) sum += row[n] == 0 ? W(0) : row[n] * d[n];
        for (std::int64_t n = 0; n < all; ++n) d[n] = row[n] == 0 ? W(0) : row[n] * (d[n] - sum);
        add_shown(Scores::masked);
        if (wants_mask) std::copy_n(d, all, d_masked.data() + number * all);
        add_shown(Scores::capped);
        for (std::int64_t n = 0; n < all; ++n) d[n] *= slope[n];
        add_shown(Scores::scaled);
        for (std::int64_t s = 0; s < size; ++s) {
          const W factor = static_cast<W>(q[s]) * rows.scale;
          W product = 0;
          for (std::int64_t n = 0; n < all; ++n) {
            product += d[n] * k[s * all + n];
            dk[s * all + n] += d[n] * factor;
          }
          d_query[static_cast<std::size_t>(of.queries.at(sample, head, at) + s)] = product * rows.scale;
        }
      }
    }
  });

  const auto key_at = [&](std::int64_t sample_head, std::int64_t row, std::int64_t s) {
    return d_key[static_cast<std::size_t>((sample_head * size + s) * all + row)];
  };
  const auto value_at = [&](std::int64_t sample_head, std::int64_t row, std::int64_t s) {
    return d_value[static_cast<std::size_t>((sample_head * all + row) * value_size + s)];
  };
  // Element i of [batch, heads, rows, width], or of [batch, rows, heads, width], behind `past` rows.
  const auto at = [&](const auto& get, const Heads& heads, std::int64_t past, std::int64_t i) {
    const auto s = i % heads.size, rest = i / heads.size;
    const auto head = heads.flat ? rest % heads.heads : rest / heads.rows % heads.heads;
    const auto row = heads.flat ? rest / heads.heads % heads.rows : rest % heads.rows;
    return get(rest / heads.heads / heads.rows * heads.heads + head, past + row, s);
  };
  const auto before = [&](const Heads& heads) { return Heads{heads.heads, sizes.past, heads.size, false}; };
  put<T>(call, "query", 0, [&](std::int64_t i) { return d_query[static_cast<std::size_t>(i)]; });
  put<T>(call, "key", 1, [&](std::int64_t i) { return at(key_at, of.keys, sizes.past, i); });
  put<T>(call, "value", 2, [&](std::int64_t i) { return at(value_at, of.values, sizes.past, i); });
  put<T>(call, "past_key", 4, [&](std::int64_t i) { return at(key_at, before(of.keys), 0, i); });
  put<T>(call, "past_value", 5, [&](std::int64_t i) { return at(value_at, before(of.values), 0, i); });
  if (wants_mask) put_mask<W>(call, d_masked, sizes);
}

}  // namespace attention

void Attention::forward(const tenon::Call& call) const {
  const auto sizes = sizes_of(call);
  if (sizes.batch == 0) return;
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { attention::forward<T>(*this, call, sizes); });
}

void Attention::backward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { attention::backward<T>(*this, call, sizes_of(call)); });
}
