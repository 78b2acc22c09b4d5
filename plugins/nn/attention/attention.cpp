// attention on the CPU: each head of each sample by itself.
#include "attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "shared/fits.hpp"
#include "shared/store.hpp"

TENON_OPERATOR(attention, Attention)

namespace attention {

/// Where a head's rows lie: [batch, heads, rows, size], or [batch, rows, heads, size].
struct Heads {
  std::int64_t heads, rows, size;
  bool flat;
  std::int64_t at(std::int64_t sample, std::int64_t head, std::int64_t row) const {
    return (flat ? (sample * rows + row) * heads + head : (sample * heads + head) * rows + row) * size;
  }
};

/// What is added to the scores; it broadcasts, and ends where it has fewer keys.
template <class W>
struct Mask {
  std::vector<W> values;
  std::int64_t strides[3] = {0, 0, 0}, keys = 0;  ///< of batch, head and query
  bool one = false;                               ///< key for all

  W operator()(std::int64_t sample, std::int64_t head, std::int64_t query, std::int64_t key) const {
    if (values.empty()) return 0;
    if (!one && key >= keys) return -std::numeric_limits<W>::infinity();
    return values[static_cast<std::size_t>(sample * strides[0] + head * strides[1] + query * strides[2] + (one ? 0 : key))];
  }
};

template <class W>
Mask<W> mask_of(const tenon::Call& call, std::int64_t all) {
  Mask<W> mask;
  if (!call.has_input("mask")) return mask;
  const auto type = call.input_type(3);
  mask.keys = type.shape[-1];
  mask.one = mask.keys == 1 && all != 1;
  std::int64_t stride = mask.keys;
  for (int axis = type.shape.rank() - 2, to = 2; axis >= 0; --axis, --to) {
    mask.strides[to] = type.shape[axis] == 1 ? 0 : stride;
    stride *= type.shape[axis];
  }
  mask.values.resize(static_cast<std::size_t>(type.shape.size()));
  tenon::visit<tenon::floating + tenon::Types{tenon::boolean}>(type.dtype, [&]<class M>() {
    const auto view = call.input<M>("mask");
    for (std::int64_t i = 0; i < view.size(); ++i) {
      auto& to = mask.values[static_cast<std::size_t>(i)];
      if constexpr (std::is_same_v<M, bool>)
        to = view[i] ? W(0) : -std::numeric_limits<W>::infinity();
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

template <class T>
void forward(const Attention& op, const tenon::Call& call, const Attention::Sizes& sizes) {
  using W = Wide<T>;
  const T *const query = call.input<T>(0).data(), *const key = call.input<T>(1).data(), *const value = call.input<T>(2).data();
  const T* const past_key = call.has_input("past_key") ? call.input<T>("past_key").data() : nullptr;
  const T* const past_value = call.has_input("past_value") ? call.input<T>("past_value").data() : nullptr;
  const Heads queries{sizes.q_heads, sizes.queries, sizes.size, sizes.flat}, keys{sizes.kv_heads, sizes.keys, sizes.size, sizes.flat};
  const Heads values{sizes.kv_heads, sizes.keys, sizes.value_size, sizes.flat};
  const Heads outputs{sizes.q_heads, sizes.queries, sizes.value_size, sizes.flat};
  copy_present(call, 1, "past_key", key, keys, sizes.batch, sizes.past);
  copy_present(call, 2, "past_value", value, values, sizes.batch, sizes.past);
  T* const output = call.write(0) != tenon::Write::none ? call.output<T>(0).data() : nullptr;
  T* const scores = call.write(3) != tenon::Write::none ? call.output<T>(3).data() : nullptr;
  if (!output && !scores) return;
  const auto mask = mask_of<W>(call, sizes.all());
  const std::int64_t* const lengths = call.has_input("lengths") ? call.input<std::int64_t>("lengths").data() : nullptr;
  const auto scale = static_cast<W>(op.scale > 0 ? op.scale : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(sizes.size, 1))));
  const auto cap = static_cast<W>(op.softcap);
  const auto all = sizes.all(), group = sizes.q_heads / sizes.kv_heads;
  constexpr W never = -std::numeric_limits<W>::infinity();
  call.parallel_for(sizes.batch * sizes.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<W> memory(static_cast<std::size_t>(all * (sizes.size + sizes.value_size + 2) + sizes.value_size));
    W *const k = memory.data(), *const v = k + all * sizes.size, *const row = v + all * sizes.value_size, *const added = row + all;
    W* const sum = added + all;
    for (auto i = begin; i < end; ++i) {
      const auto sample = i / sizes.kv_heads, kv_head = i % sizes.kv_heads;
      gather(past_key, sizes.past, key, keys, sample, kv_head, true, k);
      gather(past_value, sizes.past, value, values, sample, kv_head, false, v);
      const auto offset = lengths ? lengths[sample] - sizes.queries : sizes.past;
      for (std::int64_t j = 0; j < group * sizes.queries; ++j) {
        const auto head = kv_head * group + j / sizes.queries, at = j % sizes.queries, own = at + offset;
        const T* const q = query + queries.at(sample, head, at);
        T* const to = scores ? scores + ((sample * sizes.q_heads + head) * sizes.queries + at) * all : nullptr;
        const auto show = [&](Scores what) {
          for (std::int64_t n = 0; to && op.scores_are == what && n < all; ++n) to[n] = T(row[n]);
        };
        std::fill_n(row, all, W(0));
        for (std::int64_t s = 0; s < sizes.size; ++s) {
          const W factor = static_cast<W>(q[s]) * scale;
          const W* const column = k + s * all;
          for (std::int64_t n = 0; n < all; ++n) row[n] += factor * column[n];
        }
        show(Scores::scaled);
        for (std::int64_t n = 0; cap > 0 && n < all; ++n) row[n] = cap * std::tanh(row[n] / cap);
        show(Scores::capped);
        bool nothing = true;
        for (std::int64_t n = 0; n < all; ++n) {
          const bool seen = (!op.causal || n <= own) && (op.left_window < 0 || own - n <= op.left_window) &&
                            (op.right_window < 0 || n - own <= op.right_window) && (!lengths || n < lengths[sample]);
          added[n] = seen ? mask(sample, head, at, n) : never;
          nothing = nothing && added[n] == never;
          row[n] += added[n];
        }
        show(Scores::masked);
        softmax(row, all, nothing);
        show(Scores::softmax);
        if (!output) continue;
        std::fill_n(sum, sizes.value_size, W(0));
        for (std::int64_t n = 0; n < all; ++n) {
          if (row[n] == 0) continue;
          for (std::int64_t s = 0; s < sizes.value_size; ++s) sum[s] += row[n] * v[n * sizes.value_size + s];
        }
        T* const result = output + outputs.at(sample, head, at);
        for (std::int64_t s = 0; s < sizes.value_size; ++s) result[s] = T(sum[s]);
      }
    }
  });
}

}  // namespace attention

Attention::Sizes Attention::sizes_of(const tenon::Shape& query, const tenon::Shape& key, const tenon::Shape& value,
                                     std::int64_t past) const {
  const bool flat = query.rank() == 3;
  const auto part = [](std::int64_t size, std::int64_t heads) {
    return size == tenon::unknown ? size : size / std::max<std::int64_t>(heads, 1);
  };
  if (flat) return {query[0], q_heads, kv_heads, query[1], key[1], past, part(query[2], q_heads), part(value[2], kv_heads), true};
  return {query[0], query[1], key[1], query[2], key[2], past, query[3], value[3], false};
}

void Attention::infer(tenon::Infer& io) const {
  const auto query = io.input("query").shape, key = io.input("key").shape, value = io.input("value").shape;
  io.require(io.has_input("past_key") == io.has_input("past_value"), "has one of past_key and past_value: needs both or none");
  if (io.has_input("mask")) {
    const auto mask = io.input("mask").shape;
    io.require(!mask.has_rank() || (mask.rank() >= 1 && mask.rank() <= 4), "mask is ", mask, " but needs 1 to 4 dimensions");
  }
  if (!query.has_rank() || !key.has_rank() || !value.has_rank()) return;
  io.require((query.rank() == 3 || query.rank() == 4) && key.rank() == query.rank() && value.rank() == query.rank(), "query is ", query,
             ", key ", key, " and value ", value, ": needs three or four dimensions each");
  const auto any = tenon::unknown;
  std::int64_t past = 0;
  if (io.has_input("past_key")) {
    const auto given = io.input("past_key").shape;
    io.require(!given.has_rank() || given.rank() == 4, "past_key is ", given, " but needs 4 dimensions");
    past = given.has_rank() ? given[2] : any;
  }
  const auto differ = [&](std::int64_t a, std::int64_t b) { return a != any && b != any && a != b; };
  if (query.rank() == 3) {
    if (q_heads < 1 || kv_heads < 1) io.param_error("q_heads", "and kv_heads are needed where query has three dimensions");
    io.require((query[2] == any || query[2] % q_heads == 0) && (key[2] == any || key[2] % kv_heads == 0) &&
                   (value[2] == any || value[2] % kv_heads == 0),
               "query ", query, ", key ", key, " and value ", value, " cannot be cut into ", q_heads, " and ", kv_heads, " heads");
  }
  const auto sizes = sizes_of(query, key, value, past);
  io.require(sizes.q_heads == any || sizes.kv_heads == any || (sizes.kv_heads > 0 && sizes.q_heads % sizes.kv_heads == 0), "there are ",
             sizes.q_heads, " heads of query, but ", sizes.kv_heads, " of key, which do not divide them");
  const auto key_size = query.rank() == 4 || key[2] == any ? key[-1] : key[2] / kv_heads;
  const auto value_heads = query.rank() == 4 ? value[1] : kv_heads, value_rows = query.rank() == 4 ? value[2] : value[1];
  io.require(!differ(key_size, sizes.size) && !differ(value_heads, sizes.kv_heads) && !differ(value_rows, sizes.keys) &&
                 !differ(key[0], sizes.batch) && !differ(value[0], sizes.batch),
             "query is ", query, ", key ", key, " and value ", value, ", which do not fit each other");
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
      io.require(mask[axis] == 1 || !differ(mask[axis], full[to]), "mask is ", mask, ", which does not broadcast to the scores");
    io.require(!mask.has_rank() || mask[-1] == any || all == any || mask[-1] <= all, "mask is ", mask, ", but there are ", all, " keys");
  }
  const auto wide = query.rank() == 3 && sizes.value_size != any ? q_heads * sizes.value_size : any;
  io.set_output(0, query.rank() == 3 ? tenon::Shape{sizes.batch, sizes.queries, wide}
                                     : tenon::Shape{sizes.batch, sizes.q_heads, sizes.queries, sizes.value_size});
  io.set_output(1, {sizes.batch, sizes.kv_heads, all, sizes.size});
  io.set_output(2, {sizes.batch, sizes.kv_heads, all, sizes.value_size});
  io.set_output(3, {sizes.batch, sizes.q_heads, sizes.queries, all});
}

void Attention::forward(const tenon::Call& call) const {
  const auto past = call.has_input("past_key") ? call.input_type(4).shape[2] : 0;
  const auto sizes = sizes_of(call.input_type(0).shape, call.input_type(1).shape, call.input_type(2).shape, past);
  if (sizes.batch == 0 || sizes.q_heads == 0) return;
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { attention::forward<T>(*this, call, sizes); });
}
