// The kernel of sum, mean, max and min. Rule merges two partial results:
//   using Acc = ...;  static Acc identity();  static Acc merge(Acc, Acc);
// Chunks are folded in SIMD lanes, and the chunks' results pairwise, so rounding errors grow with
// the logarithm of the count. The order depends only on the shape, so the bits are the same for any
// number of threads.
#pragma once
#include <tenon/wide.hpp>

#include "reduction_choice.hpp"
#include "reduction_tiling.hpp"

/// Compilers vectorize loops of this fixed length over local arrays even with -O2.
constexpr int lanes = 16;

template <class Rule, class T>
typename Rule::Acc fold_chunk(const T* x, std::int64_t length) {
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
  explicit Fold(const ReductionTiling& tiling) : tiling_(tiling) {}

  /// Folds chunks `begin` to `end` of one result.
  Acc chunks(const T* x, std::int64_t begin, std::int64_t end) const {
    // a leaf takes one full chunk, or several short chunks of the same total size
    const auto length = tiling_.chunks() > 0 ? tiling_.chunk(0).length : 1;
    if (end - begin > std::max<std::int64_t>(1, ReductionTiling::max_chunk / length)) {
      const auto middle = begin + (end - begin) / 2;
      return Rule::merge(chunks(x, begin, middle), chunks(x, middle, end));
    }
    const auto leaf = [=, tiling = &tiling_] {
      Acc result = Rule::identity();
      for (auto s = begin; s < end; ++s) {
        const auto chunk = tiling->chunk(s);
        result = Rule::merge(result, fold_chunk<Rule>(x + chunk.x, chunk.length));
      }
      return result;
    };
    constexpr std::int64_t worthwhile =
        64;  // below this, dispatching to the vector code costs more than it saves
    return (end - begin) * length < worthwhile ? leaf() : tenon::wide(leaf);
  }

  /// Folds chunks `begin` to `end` of `width` adjacent results.
  void rows(const T* x, std::int64_t width, std::int64_t begin, std::int64_t end,
            Acc* results) const {
    constexpr std::int64_t leaf = 64;
    if (end - begin > leaf) {
      const auto middle = begin + (end - begin) / 2;
      rows(x, width, begin, middle, results);
      Acc right[ReductionTiling::max_tile];
      rows(x, width, middle, end, right);
      for (std::int64_t i = 0; i < width; ++i) results[i] = Rule::merge(results[i], right[i]);
      return;
    }
    tenon::wide([=, tiling = &tiling_] {
      Acc partial[ReductionTiling::max_tile];
      std::fill_n(partial, width, Rule::identity());
      for (auto s = begin; s < end; ++s) {
        const T* row = x + tiling->chunk(s).x;
        std::int64_t i = 0;
        for (; i + lanes <= width; i += lanes)
          for (int l = 0; l < lanes; ++l)
            partial[i + l] = Rule::merge(partial[i + l], static_cast<Acc>(row[i + l]));
        for (; i < width; ++i) partial[i] = Rule::merge(partial[i], static_cast<Acc>(row[i]));
      }
      std::copy_n(partial, width, results);
    });
  }

 private:
  const ReductionTiling& tiling_;
};

/// The algorithm for an x with `elements` elements, which is not empty.
inline const ReductionRow& choose_reduction(const ReductionTiling& tiling, std::int64_t elements,
                                            bool has_scratch) {
  return choice::first_of<reduction_choices>(
      ReductionProblem{tiling.inner_reduced(), tiling.tiles(), elements, has_scratch});
}

/// Returns the number of segments of each tile.
inline std::int64_t segments_for(const ReductionTiling& tiling, std::int64_t elements,
                                 bool has_scratch) {
  constexpr std::int64_t max_segments = 64;
  if (!reduction_choice::in_segments(choose_reduction(tiling, elements, has_scratch).algorithm))
    return 1;
  return std::clamp<std::int64_t>(elements / reduction_choice::elements_per_segment, 1,
                                  std::min(max_segments, tiling.chunks()));
}

/// Merges segments pairwise, as everything else.
template <class Rule>
typename Rule::Acc merge_segments(const typename Rule::Acc* segment, std::int64_t count,
                                  std::int64_t stride) {
  if (count == 1) return *segment;
  const auto half = count / 2;
  return Rule::merge(merge_segments<Rule>(segment, half, stride),
                     merge_segments<Rule>(segment + half * stride, count - half, stride));
}

/// Returns the bytes of scratch that reduce() can use for x.
inline std::size_t reduce_workspace(const tenon::Shape& x, unsigned reduced,
                                    std::size_t accumulator = sizeof(double)) {
  if (!x.known() || x.size() == 0) return 0;
  const ReductionTiling tiling(x, reduced);
  const auto segments = segments_for(tiling, x.size(), true);
  return segments == 1 ? 0
                       : static_cast<std::size_t>(tiling.tiles() * segments * tiling.max_width()) *
                             accumulator;
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

  const ReductionTiling tiling(x.shape(), reduced);
  const Fold<Rule, T> fold(tiling);
  const bool by_rows =
      reduction_choice::by_rows(choose_reduction(tiling, x.size(), scratch != nullptr).algorithm);
  const auto fold_segment = [&](std::int64_t u, std::int64_t begin, std::int64_t end, Acc* to) {
    const auto tile = tiling.tile(u);
    if (by_rows)
      *to = fold.chunks(x.data() + tile.x, begin, end);
    else
      fold.rows(x.data() + tile.x, tile.width, begin, end, to);
  };
  const auto chunks = tiling.chunks(),
             segments = segments_for(tiling, x.size(), scratch != nullptr),
             max_width = tiling.max_width();
  const auto grain = std::max<std::int64_t>(1, (1 << 15) * tiling.tiles() * segments / x.size());
  call.parallel_for(tiling.tiles() * segments, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto u = i / segments, segment = i % segments;
      Acc results[ReductionTiling::max_tile];
      Acc* to = segments > 1 ? scratch + i * max_width : results;
      fold_segment(u, chunks * segment / segments, chunks * (segment + 1) / segments, to);
      const auto tile = tiling.tile(u);
      for (std::int64_t r = 0; segments == 1 && r < tile.width; ++r) put(tile.y + r, to[r]);
    }
  });
  for (std::int64_t u = 0; segments > 1 && u < tiling.tiles(); ++u) {
    const auto tile = tiling.tile(u);
    for (std::int64_t r = 0; r < tile.width; ++r)
      put(tile.y + r,
          merge_segments<Rule>(scratch + u * segments * max_width + r, segments, max_width));
  }
}
