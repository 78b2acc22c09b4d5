// The sizes and tensors of a recurrent operator on the CPU.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "function.hpp"
#include "products.hpp"
#include "shared/store.hpp"

namespace recurrent {

/// Units are computed in whole vectors: arrays of units are padded to this many.
inline std::int64_t padded(std::int64_t hidden) {
  constexpr auto step = tenon::elementwise::small_step;
  return (hidden + step - 1) / step * step;
}

struct Sizes {
  std::int64_t steps, batch, features, directions, hidden, rows, padded;  ///< rows: gates * hidden

  Sizes(const Recurrent& op, const tenon::Shape& data, const tenon::Shape& recurrent)
      : steps(data[op.batch_first ? 1 : 0]),
        batch(data[op.batch_first ? 0 : 1]),
        features(data[2]),
        directions(op.directions()),
        hidden(recurrent[2]),
        rows(recurrent[1]),
        padded(recurrent::padded(hidden)) {}

  std::int64_t inputs() const { return steps * batch; }  ///< rows of data
  /// Steps whose inputs one product computes: many rows share the reads of weights, and the results
  /// stay in the cache.
  std::int64_t chunk() const {
    constexpr std::int64_t enough = 96;
    return std::clamp<std::int64_t>(enough / std::max<std::int64_t>(batch, 1), 1,
                                    std::max<std::int64_t>(steps, 1));
  }
  /// Distance between the sums of samples.
  std::int64_t sums_row() const { return recurrent::padded(rows); }
};

/// Splits the workspace into arrays, or counts what they need.
template <class W>
class Workspace {
 public:
  explicit Workspace(W* memory = nullptr) : memory_(memory) {}

  W* take(std::int64_t count) {
    const auto begin = size_;
    size_ += padded(count);
    return memory_ ? memory_ + begin : nullptr;
  }
  std::size_t size() const { return static_cast<std::size_t>(size_); }

 private:
  W* memory_;
  std::int64_t size_ = 0;
};

/// Copies elements to another type.
template <class From, class To>
void convert(const From* from, std::int64_t count, To* to) {
  if constexpr (std::is_same_v<From, To>)
    std::copy_n(from, count, to);
  else
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

/// The elements of an input in the type of the computation: the tensor's, or converted copies.
template <class T>
class Elements {
 public:
  Elements(const tenon::Call& call, const char* name) {
    if (!call.has_input(name)) return;
    const auto view = call.input<T>(name);
    if constexpr (std::is_same_v<T, Wide<T>>) {
      data_ = view.data();
    } else {
      copy_.resize(static_cast<std::size_t>(view.size()));
      convert(view.data(), view.size(), copy_.data());
      data_ = copy_.data();
    }
  }
  const Wide<T>* data() const { return data_; }  ///< null if the input is not connected

 private:
  std::vector<Wide<T>> copy_;
  const Wide<T>* data_ = nullptr;
};

template <class T>
struct Layer : Sizes {
  using W = Wide<T>;
  const Recurrent& op;
  const tenon::Call& call;
  Elements<T> weight, recurrent, bias, initial_h, initial_c;
  const T* data;
  const std::int32_t* lengths;

  /// Throws if lengths contains a number outside of [0, steps].
  Layer(const Recurrent& layer, const tenon::Call& of)
      : Sizes(layer, of.input_type(0).shape, of.input_type(2).shape),
        op(layer),
        call(of),
        weight(of, "weight"),
        recurrent(of, "recurrent"),
        bias(of, "bias"),
        initial_h(of, "initial_h"),
        initial_c(of, "initial_c"),
        data(of.input<T>("data").data()),
        lengths(of.has_input("lengths") ? of.input<std::int32_t>("lengths").data() : nullptr) {
    for (std::int64_t n = 0; lengths && n < batch; ++n)
      if (lengths[n] < 0 || lengths[n] > steps)
        throw tenon::Error("lengths contains ", lengths[n], ", but data has ", steps,
                           " steps: needs 0 to ", steps);
  }

  std::int64_t length(std::int64_t n) const { return lengths ? lengths[n] : steps; }
  /// Index in the sequence of step `step` of the computation.
  std::int64_t time(std::int64_t direction, std::int64_t n, std::int64_t step) const {
    return op.direction == Direction::reverse || direction == 1 ? length(n) - 1 - step : step;
  }
  /// Whether steps are computed in the order of the rows of data.
  bool in_order(std::int64_t direction) const {
    return !lengths && op.direction != Direction::reverse && direction == 0 &&
           (!op.batch_first || batch == 1);
  }
  /// The row of data for one time and sample.
  std::int64_t row_at(std::int64_t t, std::int64_t n) const {
    return op.batch_first ? n * steps + t : t * batch + n;
  }
  std::int64_t state_at(std::int64_t direction, std::int64_t n) const {
    return (op.batch_first ? n * directions + direction : direction * batch + n) * hidden;
  }
  std::int64_t output_at(std::int64_t t, std::int64_t direction, std::int64_t n) const {
    return (op.batch_first ? (n * steps + t) * directions + direction
                           : (t * directions + direction) * batch + n) *
           hidden;
  }
  /// The elements of initial_h or initial_c.
  void start(const Elements<T>& from, std::int64_t direction, std::int64_t n, W* to) const {
    std::fill_n(to, padded, W(0));
    if (from.data()) std::copy_n(from.data() + state_at(direction, n), hidden, to);
  }
};

}  // namespace recurrent
