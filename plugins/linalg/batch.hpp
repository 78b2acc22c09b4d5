// Matching of the matrices of two batches under numpy's broadcasting.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tenon/operator.hpp>
#include <utility>
#include <vector>

namespace batch {

inline std::int64_t dim_from_end(const tenon::Shape& shape, int axis) {
  return axis < shape.rank() ? shape[-1 - axis] : 1;
}

/// One axis under numpy's broadcasting: equal sizes, or one of them 1. Callers check this with
/// joinable() first.
inline std::int64_t joined(std::int64_t left, std::int64_t right) {
  if (left == 1) return right;
  if (right == 1 || left != tenon::unknown) return left;
  return right;  // an unknown size next to a size above 1 is 1 or that size
}

inline bool joinable(std::int64_t left, std::int64_t right) {
  return left == right || left == 1 || right == 1 || left == tenon::unknown ||
         right == tenon::unknown;
}

/// For each matrix of the broadcast batch, in order, the index of the corresponding matrix of
/// `own`.
inline std::vector<std::int64_t> members(const tenon::Shape& own,
                                         const tenon::Shape& joined_shape) {
  std::vector<std::int64_t> members(1, 0);
  std::int64_t step = own.size();
  for (int axis = joined_shape.rank() - 1; axis >= 0; --axis) {  // outermost axis first
    const auto size = dim_from_end(own, axis), times = dim_from_end(joined_shape, axis);
    step = size == 0 ? 0 : step / size;
    std::vector<std::int64_t> wider;
    wider.reserve(members.size() * static_cast<std::size_t>(times));
    for (const auto member : members)
      for (std::int64_t i = 0; i < times; ++i) wider.push_back(member + (size == 1 ? 0 : i * step));
    members = std::move(wider);
  }
  return members;
}

/// One product of a batch: the index of its result and of its operands.
struct Term {
  std::int64_t result, left, right;
};

/// Terms sorted by result. If several terms add to one result, as in the gradient of a broadcast
/// operand, the order of the sum is fixed.
inline std::vector<Term> terms(const std::vector<std::int64_t>& result,
                               const std::vector<std::int64_t>& left,
                               const std::vector<std::int64_t>& right) {
  std::vector<Term> terms(result.size());
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = {result[i], left[i], right[i]};
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return a.result < b.result; });
  return terms;
}

/// Returns the products with left and right swapped.
inline std::vector<Term> swapped(std::vector<Term> terms) {
  for (auto& term : terms) std::swap(term.left, term.right);
  return terms;
}

}  // namespace batch
