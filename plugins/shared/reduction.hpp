// The kernel of sum, mean, max and min. Rule merges two partial results:
//   using Acc = ...;  static Acc identity();  static Acc merge(Acc, Acc);
// Strips are folded in SIMD lanes, and the strips' results pairwise, so rounding errors grow with
// the logarithm of the count. The order depends only on the shape, so the bits are the same for any
// number of threads.
#pragma once
#include <tenon/wide.hpp>

#include "reduction_choice.hpp"
#include "strips.hpp"

/// Compilers vectorize loops of this fixed length over local arrays even with -O2.
constexpr int lanes = 16;

template <class Rule, class T>
typename Rule::Acc fold_strip(const T* x, std::int64_t length) {
  using Acc = typename Rule::Acc;
  std::int64_t i = 0;
  if (length < lanes) {
    Acc result = Rule::identity();
    for (; i < length; ++i) result = Rule::merge(result, static_cast<Acc>(x[i]));
    return result;
  }
  Acc lane[lanes];
  std::fill_n(lane, lanes, Rule::identity());
  for (; i + lanes <= length; i += lanes)
    for (int l = 0; l < lanes; ++l) lane[l] = Rule::merge(lane[l], static_cast<Acc>(x[i + l]));
  for (int l = 0; i < length; ++i, ++l) lane[l] = Rule::merge(lane[l], static_cast<Acc>(x[i]));
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] = Rule::merge(lane[l], lane[l + half]);
  return lane[0];
}

template <class Rule, class T>
class Fold {
 public:
  using Acc = typename Rule::Acc;
  explicit Fold(const Strips& strips) : strips_(strips) {}

  /// Folds steps `begin` to `end` of one result.
  Acc strips(const T* x, std::int64_t begin, std::int64_t end) const {
    // a leaf takes one full strip, or several short strips of the same total size
    const auto length = strips_.steps() > 0 ? strips_.step(0).length : 1;
    if (end - begin > std::max<std::int64_t>(1, Strips::block / length)) {
      const auto middle = begin + (end - begin) / 2;
      return Rule::merge(strips(x, begin, middle), strips(x, middle, end));
    }
    const auto leaf = [=, strips = &strips_] {
      Acc result = Rule::identity();
      for (auto s = begin; s < end; ++s) {
        const auto step = strips->step(s);
        result = Rule::merge(result, fold_strip<Rule>(x + step.x, step.length));
      }
      return result;
    };
    constexpr std::int64_t worthwhile =
        64;  // below this, dispatching to the vector code costs more than it saves
    return (end - begin) * length < worthwhile ? leaf() : tenon::wide(leaf);
  }

  /// Folds steps `begin` to `end` of `width` adjacent results.
  void rows(const T* x, std::int64_t width, std::int64_t begin, std::int64_t end,
            Acc* results) const {
    constexpr std::int64_t leaf = 64;
    if (end - begin > leaf) {
      const auto middle = begin + (end - begin) / 2;
      rows(x, width, begin, middle, results);
      Acc right[Strips::tile];
      rows(x, width, middle, end, right);
      for (std::int64_t i = 0; i < width; ++i) results[i] = Rule::merge(results[i], right[i]);
      return;
    }
    tenon::wide([=, strips = &strips_] {
      Acc tile[Strips::tile];
      std::fill_n(tile, width, Rule::identity());
      for (auto s = begin; s < end; ++s) {
        const T* row = x + strips->step(s).x;
        std::int64_t i = 0;
        for (; i + lanes <= width; i += lanes)
          for (int l = 0; l < lanes; ++l)
            tile[i + l] = Rule::merge(tile[i + l], static_cast<Acc>(row[i + l]));
        for (; i < width; ++i) tile[i] = Rule::merge(tile[i], static_cast<Acc>(row[i]));
      }
      std::copy_n(tile, width, results);
    });
  }

 private:
  const Strips& strips_;
};

/// The algorithm for an x with `elements` elements, which is not empty.
inline const ReductionRow& choose_reduction(const Strips& strips, std::int64_t elements,
                                            bool has_scratch) {
  return choice::first_of<reduction_choices>(
      ReductionCase{strips.inner_reduced(), strips.units(), elements, has_scratch});
}

/// Returns the number of segments of each unit.
inline std::int64_t chunks_for(const Strips& strips, std::int64_t elements, bool has_scratch) {
  constexpr std::int64_t max_chunks = 64;
  if (!reduction_choice::in_segments(choose_reduction(strips, elements, has_scratch).algorithm))
    return 1;
  return std::clamp<std::int64_t>(elements / reduction_choice::elements_per_segment, 1,
                                  std::min(max_chunks, strips.steps()));
}

/// Merges segments pairwise, as everything else.
template <class Rule>
typename Rule::Acc merge_chunks(const typename Rule::Acc* chunk, std::int64_t count,
                                std::int64_t stride) {
  if (count == 1) return *chunk;
  const auto half = count / 2;
  return Rule::merge(merge_chunks<Rule>(chunk, half, stride),
                     merge_chunks<Rule>(chunk + half * stride, count - half, stride));
}

/// Returns the bytes of scratch that reduce() can use for x.
inline std::size_t reduce_workspace(const tenon::Shape& x, unsigned reduced,
                                    std::size_t accumulator = sizeof(double)) {
  if (!x.known() || x.size() == 0) return 0;
  const Strips strips(x, reduced);
  const auto chunks = chunks_for(strips, x.size(), true);
  return chunks == 1
             ? 0
             : static_cast<std::size_t>(strips.units() * chunks * strips.widest()) * accumulator;
}

/// Computes y = finish(x folded over the reduced axes), or adds that to y if `add`. Without
/// scratch, one thread computes each result.
template <class Rule, class T, class Out, class Finish>
void reduce(const tenon::Call& call, tenon::View<const T> x, tenon::View<Out> y, unsigned reduced,
            bool add, typename Rule::Acc* scratch, Finish finish) {
  using Acc = typename Rule::Acc;
  const auto put = [&](std::int64_t i, Acc folded) {
    const Acc value = finish(folded);
    y.data()[i] = static_cast<Out>(add ? static_cast<Acc>(y.data()[i]) + value : value);
  };
  if (x.size() == 0) {
    for (std::int64_t i = 0; i < y.size(); ++i) put(i, Rule::identity());
    return;
  }

  const Strips strips(x.shape(), reduced);
  const Fold<Rule, T> fold(strips);
  const bool by_rows =
      reduction_choice::by_rows(choose_reduction(strips, x.size(), scratch != nullptr).algorithm);
  const auto fold_chunk = [&](std::int64_t u, std::int64_t begin, std::int64_t end, Acc* to) {
    const auto unit = strips.unit(u);
    if (by_rows)
      *to = fold.strips(x.data() + unit.x, begin, end);
    else
      fold.rows(x.data() + unit.x, unit.width, begin, end, to);
  };
  const auto steps = strips.steps(), chunks = chunks_for(strips, x.size(), scratch != nullptr),
             widest = strips.widest();
  const auto grain = std::max<std::int64_t>(1, (1 << 15) * strips.units() * chunks / x.size());
  call.parallel_for(strips.units() * chunks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto u = i / chunks, chunk = i % chunks;
      Acc results[Strips::tile];
      Acc* to = chunks > 1 ? scratch + i * widest : results;
      fold_chunk(u, steps * chunk / chunks, steps * (chunk + 1) / chunks, to);
      const auto unit = strips.unit(u);
      for (std::int64_t r = 0; chunks == 1 && r < unit.width; ++r) put(unit.y + r, to[r]);
    }
  });
  for (std::int64_t u = 0; chunks > 1 && u < strips.units(); ++u) {
    const auto unit = strips.unit(u);
    for (std::int64_t r = 0; r < unit.width; ++r)
      put(unit.y + r, merge_chunks<Rule>(scratch + u * chunks * widest + r, chunks, widest));
  }
}
