// attention on CUDA: matrix products with cuBLAS, and a softmax over each row of scores between
// them. Samples are processed in groups whose scores fit into the workspace.
#include "../../shared/any_elements.hpp"
#include "../../shared/device_gemm.hpp"
#include "heads.hpp"
#include "shared/store.hpp"
#include "shared/thread_group.hpp"

namespace attention {

/// Rows of heads preceded by past rows, and their layout in `from`.
template <class T>
struct RowsOf {
  Heads heads;
  std::int64_t past;
  const T *past_data, *data;

  TENON_FN std::int64_t all() const { return past + heads.rows; }
  TENON_FN T at(std::int64_t sample, std::int64_t head, std::int64_t row, std::int64_t k) const {
    return row < past ? past_data[((sample * heads.heads + head) * past + row) * heads.size + k]
                      : data[heads.at(sample, head, row - past) + k];
  }
};

/// Copies samples from `first` on to [samples, heads, rows, size], multiplied by scale.
template <class T, class To>
struct GatherHeads {
  RowsOf<T> from;
  std::int64_t first;
  const std::int64_t*
      lengths;  ///< null, or: rows from these lengths on become 0, since no query attends to them
  To* to;
  To scale = To(1.0f);

  TENON_FN void operator()(std::int64_t i) const {
    const auto k = i % from.heads.size, row = i / from.heads.size % from.all(),
               plane = i / from.heads.size / from.all();
    const auto sample = first + plane / from.heads.heads;
    if constexpr (std::is_same_v<T, To>)
      if (scale == To(1.0f))
        return void(to[i] = lengths && row >= lengths[sample]
                                ? To(0.0f)
                                : from.at(sample, plane % from.heads.heads, row, k));
    to[i] = lengths && row >= lengths[sample]
                ? To(0.0f)
                : To(static_cast<To>(from.at(sample, plane % from.heads.heads, row, k)) * scale);
  }
};

/// The inverse copy: element i of a tensor with heads, from rows [samples, heads, past + rows,
/// size]; for samples from `first` on.
template <class T>
struct PutHeads {
  Heads heads;
  std::int64_t before, all, first;  ///< rows that precede the tensor's, and the number of all rows
  const Wide<T>* from;
  const T* added;  ///< null, or a term to add: [batch, heads, all, size]
  T* to;
  tenon::Write write = tenon::Write::to;
  Wide<T> scale = 1;

  TENON_FN void operator()(std::int64_t i) const {
    const auto k = i % heads.size, row = i / heads.size % heads.rows,
               plane = i / heads.size / heads.rows;
    const auto index = (plane * all + before + row) * heads.size + k;
    Wide<T> value = from[index] * scale;
    if (added) value += static_cast<Wide<T>>(added[first * heads.heads * all * heads.size + index]);
    store(write, to[heads.at(first + plane / heads.heads, plane % heads.heads, row) + k], value);
  }
};

/// The mask, which is added to the scores.
template <class W>
struct MaskOnDevice : MaskIndexing {
  AnyElements<W, bool, tenon::half, tenon::bfloat16, float, double> values{};

  TENON_FN W operator()(std::int64_t sample, std::int64_t head, std::int64_t query,
                        std::int64_t key) const {
    if (!present) return 0;
    if (ends_at_or_before(key)) return never<W>;
    const W value = values[at(sample, head, query, key)];
    return values.dtype != tenon::boolean ? value : value != 0 ? W(0) : never<W>;
  }
};

template <class W>
struct LargerOrNan {
  TENON_FN W operator()(W l, W r) const { return r > l || r != r ? r : l; }
};

/// The rows of scores of a group of samples.
struct ScoreRows {
  Attention::Sizes sizes;
  std::int64_t first;  ///< first sample of the group

  TENON_FN std::int64_t sample(std::int64_t row) const {
    return first + row / sizes.queries / sizes.q_heads;
  }
  TENON_FN std::int64_t head(std::int64_t row) const { return row / sizes.queries % sizes.q_heads; }
  TENON_FN std::int64_t query(std::int64_t row) const { return row % sizes.queries; }
  /// Offset of the row in a tensor of all samples.
  TENON_FN std::int64_t in_all(std::int64_t row) const {
    return (first * sizes.q_heads * sizes.queries + row) * sizes.all();
  }
};

/// Turns scaled products into their softmax, in place.
template <class T>
struct SoftmaxOfScores {
  using W = Wide<T>;
  ScoreRows rows;
  AttentionWindow window;
  MaskOnDevice<W> mask;
  const std::int64_t* lengths;
  W cap;
  W* scores;
  W* slopes;  ///< null, or the slopes of the softcap
  T* shown;   ///< null, or output scores
  Scores what;

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t row) const {
    const auto all = rows.sizes.all(), sample = rows.sample(row), head = rows.head(row),
               query = rows.query(row);
    const auto stated = lengths ? lengths[sample] : 0, length = !lengths     ? -1
                                                                : stated > 0 ? stated
                                                                             : 0;
    const auto own = query + rows.sizes.first_query(length);
    W* const at = scores + row * all;
    T* const to = shown ? shown + rows.in_all(row) : nullptr;
    W maximum = never<W>, sum = 0;
    int seen = 0;
    for (std::int64_t n = threads.thread(); n < all; n += group_size<ThreadGroup>) {
      W score = at[n];
      if (to && what == Scores::scaled) to[n] = T(score);
      if (cap > 0) score = cap * std::tanh(score / cap);
      if (slopes) slopes[row * all + n] = 1 - score / cap * (score / cap);
      if (to && what == Scores::capped) to[n] = T(score);
      const W added = window.sees(own, n, length) ? mask(sample, head, query, n) : never<W>;
      seen |= added == never<W> ? 0 : 1;
      score += added;
      if (to && what == Scores::masked) to[n] = T(score);
      maximum = LargerOrNan<W>()(maximum, score);
      at[n] = score;
    }
    maximum = threads.reduce(maximum, LargerOrNan<W>());
    const bool nothing = threads.max(seen) == 0 || maximum == never<W>;
    for (std::int64_t n = threads.thread(); n < all; n += group_size<ThreadGroup>)
      sum += at[n] = nothing ? W(0) : std::exp(at[n] - maximum);
    sum = threads.sum(sum);
    for (std::int64_t n = threads.thread(); n < all; n += group_size<ThreadGroup>) {
      if (!nothing) at[n] /= sum;
      if (to && what == Scores::softmax) to[n] = T(at[n]);
    }
  }
};

/// Turns gradients of the softmax into gradients of the scaled products, in place.
template <class T>
struct SoftmaxBack {
  using W = Wide<T>;
  ScoreRows rows;
  const W *softmax, *slopes;  ///< slopes: null without softcap
  const T* d_shown;           ///< null, or the gradient of output scores
  Scores what;
  W *d, *d_masked;  ///< d_masked: null, or the gradient for the mask

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t row) const {
    const auto all = rows.sizes.all(), begin = row * all;
    const auto add_shown = [&](Scores stage, std::int64_t n) {
      return d_shown && what == stage ? static_cast<W>(d_shown[rows.in_all(row) + n]) : W(0);
    };
    W sum = 0;
    for (std::int64_t n = threads.thread(); n < all; n += group_size<ThreadGroup>) {
      d[begin + n] += add_shown(Scores::softmax, n);
      sum += softmax[begin + n] == 0 ? W(0) : softmax[begin + n] * d[begin + n];
    }
    sum = threads.sum(sum);
    for (std::int64_t n = threads.thread(); n < all; n += group_size<ThreadGroup>) {
      W slope = softmax[begin + n] == 0 ? W(0) : softmax[begin + n] * (d[begin + n] - sum);
      slope += add_shown(Scores::masked, n);
      if (d_masked) d_masked[begin + n] = slope;
      slope += add_shown(Scores::capped, n);
      if (slopes) slope *= slopes[begin + n];
      d[begin + n] = slope + add_shown(Scores::scaled, n);
    }
  }
};

/// Adds to the gradient of the mask the gradients of all scores of these rows, in order.
template <class W>
struct SumForMask {
  ScoreRows rows;
  MaskIndexing mask;
  std::int64_t samples, sizes[3];  ///< samples of these rows; sizes of the mask's axes but the last
  const W* d_masked;
  W* sums;

  TENON_FN void operator()(std::int64_t i) const {
    const auto& attention = rows.sizes;
    const auto query = i / mask.keys % sizes[2], head = i / mask.keys / sizes[2] % sizes[1],
               sample = i / mask.keys / sizes[2] / sizes[1];
    W sum = sums[i];
    for (std::int64_t row = 0; row < samples * attention.q_heads * attention.queries; ++row) {
      if (mask.strides[0] != 0 && rows.sample(row) != sample) continue;
      if (mask.strides[1] != 0 && rows.head(row) != head) continue;
      if (mask.strides[2] != 0 && rows.query(row) != query) continue;
      for (std::int64_t n = mask.one ? 0 : i % mask.keys;
           n < (mask.one ? attention.all() : i % mask.keys + 1); ++n)
        sum += d_masked[row * attention.all() + n];
    }
    sums[i] = sum;
  }
};

template <class M, class W>
struct PutMask {
  const W* sums;
  tenon::Write write;
  M* to;

  TENON_FN void operator()(std::int64_t i) const { store(write, to[i], sums[i]); }
};

/// Number of scratch elements per sample for each intermediate. Samples are processed in groups.
struct ScratchSizes {
  std::int64_t samples, q, k, v, scores, o, mask;

  ScratchSizes(const Attention::Sizes& sizes, std::int64_t mask_elements) : mask(mask_elements) {
    constexpr std::int64_t enough = 1 << 26;  // scores
    const auto row = std::max<std::int64_t>(sizes.q_heads * sizes.queries * sizes.all(), 1);
    samples = std::clamp<std::int64_t>(enough / row, 1, std::max<std::int64_t>(sizes.batch, 1));
    q = samples * sizes.q_heads * sizes.queries * sizes.size;
    k = samples * sizes.kv_heads * sizes.all() * sizes.size;
    v = samples * sizes.kv_heads * sizes.all() * sizes.value_size;
    scores = samples * sizes.q_heads * sizes.queries * sizes.all();
    o = samples * sizes.q_heads * sizes.queries * sizes.value_size;
  }
  std::int64_t forward() const { return q + k + v + scores + o; }
  /// Each intermediate with its gradient; scores also with slopes of the softcap and gradients for
  /// the mask.
  std::int64_t backward(bool cap) const {
    return 2 * (q + k + v) + (2 + cap + (mask > 0)) * scores + o + mask;
  }
};

}  // namespace attention

struct AttentionCuda : Attention {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer& io) const { return bytes(io, false); }
  std::size_t backward_workspace(const tenon::Infer& io) const { return bytes(io, true); }

  void forward(const tenon::Call& call) const {
    const auto sizes = sizes_of(call);
    if (sizes.batch == 0) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype,
                                  [&]<class T>() { OnDevice<T>(*this, call, sizes).forward(); });
  }
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      OnDevice<T>(*this, call, sizes_of(call)).backward();
    });
  }

 private:
  static std::int64_t mask_elements(const tenon::Infer& io) {
    return io.has_input("mask") && io.input(3).shape.known() ? io.input(3).shape.size() : 0;
  }

  std::size_t bytes(const tenon::Infer& io, bool back) const {
    const auto query = io.input(0).shape, key = io.input(1).shape, value = io.input(2).shape;
    const auto past = io.has_input("past_key") ? io.input(4).shape : tenon::Shape{0, 0, 0, 0};
    if (!query.known() || !key.known() || !value.known() || !past.known())
      return device_gemm::workspace_bytes;
    const attention::ScratchSizes scratch(sizes_of(query, key, value, past[2]), mask_elements(io));
    const std::size_t each = io.input(0).dtype == tenon::f64 ? sizeof(double) : sizeof(float);
    return device_gemm::workspace_bytes +
           each *
               static_cast<std::size_t>(back ? scratch.backward(softcap > 0) : scratch.forward());
  }

  template <class T>
  class OnDevice {
   public:
    using W = Wide<T>;

    OnDevice(const Attention& op, const tenon::Call& call, const Sizes& sizes)
        : op_(op),
          call_(call),
          sizes_(sizes),
          scratch_(sizes, call.has_input("mask") ? call.input_type(3).shape.size() : 0) {
      mask_.present = call.has_input("mask");
      if (mask_.present)
        mask_ = {attention::MaskIndexing::of(call, sizes.all()), mask_.values.of(call, 3)};
      if (call.has_input("lengths")) lengths_ = call.input<std::int64_t>("lengths").data();
      query_ = {{sizes.q_heads, sizes.queries, sizes.size, sizes.flat},
                0,
                nullptr,
                call.input<T>(0).data()};
      key_ = {{sizes.kv_heads, sizes.keys, sizes.size, sizes.flat},
              sizes.past,
              nullptr,
              call.input<T>(1).data()};
      value_ = {{sizes.kv_heads, sizes.keys, sizes.value_size, sizes.flat},
                sizes.past,
                nullptr,
                call.input<T>(2).data()};
      if (call.has_input("past_key")) key_.past_data = call.input<T>("past_key").data();
      if (call.has_input("past_value")) value_.past_data = call.input<T>("past_value").data();
    }

    void forward() {
      for (int i = 1; i < 3; ++i) {
        if (call_.write(i) == tenon::Write::none) continue;
        const auto& rows = i == 1 ? key_ : value_;
        tenon::gpu::for_each(
            call_, sizes_.batch * rows.heads.heads * rows.all() * rows.heads.size,
            attention::GatherHeads<T, T>{rows, 0, nullptr, call_.output<T>(i).data()});
      }
      T* const output = call_.write(0) != tenon::Write::none ? call_.output<T>(0).data() : nullptr;
      T* const shown = call_.write(3) != tenon::Write::none ? call_.output<T>(3).data() : nullptr;
      if (!output && !shown) return;
      take_scratch(false);
      each_batch([&] {
        make_softmax(shown);
        if (!output) return;
        multiply({scores_, sizes_.all(), false}, {v_, sizes_.value_size, false}, o_, query_rows(),
                 sizes_.value_size, sizes_.all());
        put(outputs(), 0, sizes_.queries, o_, output);
      });
    }

    void backward() {
      const auto grad_or_null = [&](int output) {
        return call_.has_output_grad(output) ? call_.output_grad<T>(output).data() : nullptr;
      };
      const T *const dy = grad_or_null(0), *const d_key = grad_or_null(1),
                     *const d_value = grad_or_null(2), *const d_shown = grad_or_null(3);
      const bool needs_mask_grad = is_requested("mask", 3);
      take_scratch(true);
      if (needs_mask_grad)
        tenon::gpu::clear(call_, mask_sums_, static_cast<std::size_t>(scratch_.mask) * sizeof(W));
      each_batch([&] {
        make_softmax(nullptr);
        const auto all = sizes_.all(), size = sizes_.size, value_size = sizes_.value_size;
        if (dy) {
          gather({outputs(), 0, nullptr, dy}, o_);
          multiply({o_, value_size, false}, {v_, value_size, true}, d_scores_, query_rows(), all,
                   value_size);
          multiply({scores_, all, true}, {o_, value_size, false}, d_v_, all, value_size,
                   query_rows());
        } else {
          tenon::gpu::clear(call_, d_scores_,
                            static_cast<std::size_t>(scratch_.scores) * sizeof(W));
          tenon::gpu::clear(call_, d_v_, static_cast<std::size_t>(scratch_.v) * sizeof(W));
        }
        for_each_group(call_, score_rows(), all, false,
                       attention::SoftmaxBack<T>{rows(), scores_, slopes_, d_shown, op_.scores_are,
                                                 d_scores_, needs_mask_grad ? d_masked_ : nullptr});
        multiply({d_scores_, all, false}, {k_, size, false}, d_q_, query_rows(), size, all);
        multiply({d_scores_, all, true}, {q_, size, false}, d_k_, all, size, query_rows());
        put_gradient("query", 0, query_.heads, 0, sizes_.queries, d_q_, nullptr, scale());
        put_gradient("key", 1, key_.heads, sizes_.past, all, d_k_, d_key);
        put_gradient("value", 2, value_.heads, sizes_.past, all, d_v_, d_value);
        put_gradient("past_key", 4, before(key_.heads), 0, all, d_k_, d_key);
        put_gradient("past_value", 5, before(value_.heads), 0, all, d_v_, d_value);
        if (needs_mask_grad) sum_for_mask();
      });
      if (!needs_mask_grad) return;
      tenon::visit<tenon::floating>(call_.input_type(3).dtype, [&]<class M>() {
        tenon::gpu::for_each(call_, scratch_.mask,
                             attention::PutMask<M, W>{mask_sums_, call_.write(3),
                                                      call_.input_grad<M>("mask").data()});
      });
    }

   private:
    W scale() const { return static_cast<W>(op_.scale_for(sizes_.size)); }
    bool is_requested(const char* name, int input) const {
      return call_.has_input(name) && call_.write(input) != tenon::Write::none;
    }
    attention::Heads outputs() const {
      return {sizes_.q_heads, sizes_.queries, sizes_.value_size, sizes_.flat};
    }
    attention::Heads before(const attention::Heads& heads) const {
      return {heads.heads, sizes_.past, heads.size, false};
    }
    attention::ScoreRows rows() const { return {sizes_, first_}; }
    std::int64_t score_rows() const { return samples_ * sizes_.q_heads * sizes_.queries; }
    /// Query heads that share a key head are contiguous, so that their queries are the rows of one
    /// matrix.
    std::int64_t query_rows() const { return sizes_.group() * sizes_.queries; }

    void take_scratch(bool back) {
      const auto bytes =
          device_gemm::workspace_bytes +
          sizeof(W) * static_cast<std::size_t>(back ? scratch_.backward(op_.softcap > 0)
                                                    : scratch_.forward());
      W* next =
          reinterpret_cast<W*>(call_.workspace<std::byte>(bytes) + device_gemm::workspace_bytes);
      const auto take = [&](std::int64_t count) { return std::exchange(next, next + count); };
      q_ = take(scratch_.q), k_ = take(scratch_.k), v_ = take(scratch_.v),
      scores_ = take(scratch_.scores), o_ = take(scratch_.o);
      if (!back) return;
      d_q_ = take(scratch_.q), d_k_ = take(scratch_.k), d_v_ = take(scratch_.v),
      d_scores_ = take(scratch_.scores);
      if (op_.softcap > 0) slopes_ = take(scratch_.scores);
      if (scratch_.mask > 0) d_masked_ = take(scratch_.scores), mask_sums_ = take(scratch_.mask);
    }

    /// Calls body() for each group of samples_ samples from first_ on.
    template <class Body>
    void each_batch(const Body& body) {
      for (first_ = 0; first_ < sizes_.batch; first_ += samples_) {
        samples_ = std::min(scratch_.samples, sizes_.batch - first_);
        body();
      }
    }

    void gather(const attention::RowsOf<T>& from, W* to, W factor = 1,
                const std::int64_t* lengths = nullptr) {
      tenon::gpu::for_each(call_, samples_ * from.heads.heads * from.all() * from.heads.size,
                           attention::GatherHeads<T, W>{from, first_, lengths, to, factor});
    }

    void make_softmax(T* shown) {
      gather(query_, q_, scale());
      gather(key_, k_);
      gather(value_, v_, 1, lengths_);
      multiply({q_, sizes_.size, false}, {k_, sizes_.size, true}, scores_, query_rows(),
               sizes_.all(), sizes_.size);
      for_each_group(call_, score_rows(), sizes_.all(), false,
                     attention::SoftmaxOfScores<T>{rows(), op_.window(), mask_, lengths_,
                                                   static_cast<W>(op_.softcap), scores_, slopes_,
                                                   shown, op_.scores_are});
    }

    struct Factor {
      const W* data;
      std::int64_t row_size;
      bool transposed;
    };
    /// One product for each sample and key head.
    void multiply(const Factor& left, const Factor& right, W* result, std::int64_t rows,
                  std::int64_t columns, std::int64_t depth) {
      device_gemm::multiply<W>(call_,
                               {{left.data, left.row_size, rows * depth, left.transposed},
                                {right.data, right.row_size, depth * columns, right.transposed},
                                result,
                                rows * columns,
                                samples_ * sizes_.kv_heads,
                                rows,
                                columns,
                                depth,
                                false});
    }

    void put(const attention::Heads& heads, std::int64_t before, std::int64_t all, const W* from,
             T* to, const T* added = nullptr, tenon::Write write = tenon::Write::to, W factor = 1) {
      tenon::gpu::for_each(
          call_, samples_ * heads.heads * heads.rows * heads.size,
          attention::PutHeads<T>{heads, before, all, first_, from, added, to, write, factor});
    }
    void put_gradient(const char* name, int input, const attention::Heads& heads,
                      std::int64_t before, std::int64_t all, const W* from, const T* added,
                      W factor = 1) {
      if (is_requested(name, input))
        put(heads, before, all, from, call_.input_grad<T>(name).data(), added, call_.write(input),
            factor);
    }

    void sum_for_mask() {
      const auto shape = call_.input_type(3).shape;
      attention::SumForMask<W> body{rows(), mask_, samples_, {1, 1, 1}, d_masked_, mask_sums_};
      for (int axis = shape.rank() - 2, to = 2; axis >= 0; --axis, --to)
        body.sizes[to] = shape[axis];
      tenon::gpu::for_each(call_, scratch_.mask, body);
    }

    const Attention& op_;
    const tenon::Call& call_;
    const Sizes sizes_;
    const attention::ScratchSizes scratch_;
    attention::MaskOnDevice<W> mask_{};
    attention::RowsOf<T> query_, key_, value_;
    const std::int64_t* lengths_ = nullptr;
    W *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *scores_ = nullptr, *o_ = nullptr;
    W *d_q_ = nullptr, *d_k_ = nullptr, *d_v_ = nullptr, *d_scores_ = nullptr, *slopes_ = nullptr,
      *d_masked_ = nullptr, *mask_sums_ = nullptr;
    std::int64_t first_ = 0, samples_ = 0;
  };
};
TENON_KERNEL(attention, cuda, AttentionCuda)
