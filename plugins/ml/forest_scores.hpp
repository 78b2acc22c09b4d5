// The scores of rows: aggregated weights of the leaves that they reach.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>
#include <vector>

#include "tree_walk.hpp"

enum class Aggregate { sum, average, min, max };

/// Adds up the leaves' weights of blocks of rows.
template <class T>
class ForestScores {
 public:
  ForestScores(const Forest<T>& forest, const T* x, const tenon::Shape& shape, std::int64_t targets,
               Aggregate how)
      : forest_(forest),
        x_(x),
        rows_(shape[0]),
        features_(shape[1]),
        targets_(targets),
        how_(how) {}

  /// Calls finish(row, scores, has_score) for each row, on several threads: sums, minima or maxima
  /// for each target, and whether any weight counted for it.
  template <class Finish>
  void each_row(const tenon::Call& call, const Finish& finish) const {
    call.parallel_for(rows_, grain(call.threads()), [&](std::int64_t begin, std::int64_t end) {
      const auto block = block_rows();
      std::vector<T> scores(static_cast<std::size_t>(std::min(block, end - begin) * targets_));
      std::vector<std::uint8_t> has_score(scores.size());
      for (auto first = begin; first < end; first += block) {
        const auto count = std::min(block, end - first);
        std::fill(scores.begin(), scores.end(), T(0));
        std::fill(has_score.begin(), has_score.end(), std::uint8_t{0});
        add(first, count, scores.data(), has_score.data());
        for (std::int64_t i = 0; i < count; ++i)
          finish(first + i, scores.data() + i * targets_, has_score.data() + i * targets_);
      }
    });
  }

 private:
  // Rows of one block stay in the cache while all trees are walked.
  std::int64_t block_rows() const {
    constexpr std::int64_t cache = 1 << 17;
    const auto fit = cache / (static_cast<std::int64_t>(sizeof(T)) * (features_ + 2 * targets_));
    return std::clamp<std::int64_t>(fit / 8 * 8, 16, 512);
  }
  // Rows that share a tree while it is in the cache: as many as keep the threads busy. At least
  // about 16,384 steps.
  std::int64_t grain(int threads) const {
    const auto nodes = static_cast<double>(forest_.nodes()),
               trees = static_cast<double>(std::max<std::int64_t>(forest_.trees(), 1));
    const auto steps = trees * (2 + std::log2(1 + nodes / trees));
    const auto chunks = threads * (rows_ > 4096 ? 4 : 1);
    const auto wanted = std::max(static_cast<std::int64_t>(16384 / steps), (rows_ - 1) / chunks);
    return std::min((wanted / 8 + 1) * 8, block_rows());
  }

  void add(std::int64_t first, std::int64_t count, T* scores, std::uint8_t* has_score) const {
    const auto run = [&]<bool has_equality, bool has_nan> {
      add_as<has_equality, has_nan>(x_ + first * features_, count, scores, has_score);
    };
    const bool has_nan = forest_.has_nan() && has_nan_in(x_ + first * features_, count * features_);
    if (forest_.has_equality())
      has_nan ? run.template operator()<true, true>() : run.template operator()<true, false>();
    else
      has_nan ? run.template operator()<false, true>() : run.template operator()<false, false>();
  }
  static bool has_nan_in(const T* x, std::int64_t count) {
    bool found = false;
    for (std::int64_t i = 0; i < count; ++i) found |= x[i] != x[i];
    return found;
  }

  // The trees' order is that of the sums, whatever the blocks are.
  template <bool has_equality, bool has_nan>
  void add_as(const T* x, std::int64_t count, T* scores, std::uint8_t* has_score) const {
    TreeWalk<T, has_equality, has_nan> walk(forest_.node());
    if (count < 8) {
      for (std::int64_t row = 0; row < count; ++row)
        add_row(walk, x + row * features_, scores + row * targets_, has_score + row * targets_);
      return;
    }
    for (std::int64_t tree = 0; tree < forest_.trees(); ++tree) {
      for (std::int64_t row = 0; row < count; ++row) walk.at(row) = static_cast<std::int32_t>(tree);
      walk.run(count, x, features_, forest_.steps()[tree]);
      for (std::int64_t row = 0; row < count; ++row)
        add_leaf(walk.at(row), scores + row * targets_, has_score + row * targets_);
    }
  }
  /// Several trees at a time, for one row.
  template <class Walk>
  void add_row(Walk& walk, const T* x, T* scores, std::uint8_t* has_score) const {
    for (std::int64_t begin = 0; begin < forest_.trees(); begin += Walk::capacity) {
      const auto size = std::min(Walk::capacity, forest_.trees() - begin);
      for (std::int64_t i = 0; i < size; ++i) walk.at(i) = static_cast<std::int32_t>(begin + i);
      walk.run(size, x, 0, 3);
      for (std::int64_t i = 0; i < size; ++i) add_leaf(walk.at(i), scores, has_score);
    }
  }

  void add_leaf(std::int32_t at, T* scores, std::uint8_t* has_score) const {
    const auto& node = forest_.node()[at];
    if (targets_ == 1) return combine(node.weight, *scores, *has_score);
    const auto* const first = forest_.first_weight() + node.leaf;
    for (auto i = first[0]; i < first[1]; ++i) {
      const auto& one = forest_.weight()[i];
      combine(one.value, scores[one.target], has_score[one.target]);
    }
  }

  void combine(T value, T& score, std::uint8_t& has_score) const {
    if (how_ == Aggregate::sum || how_ == Aggregate::average)
      score += value;
    else if (!has_score || (how_ == Aggregate::min ? value < score : value > score))
      score = value;
    has_score = 1;
  }

  const Forest<T>& forest_;
  const T* x_;
  std::int64_t rows_, features_, targets_;
  Aggregate how_;
};
