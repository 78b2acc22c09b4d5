// The transpose of a csr matrix times a dense one, in blocks that stay in cache and without a transposed copy.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tenon/operator.hpp>
#include <vector>

#include "row_sums.hpp"

namespace sparse {

/// A csr matrix cut into blocks of columns, so many that each thread has some and their part of the result stays in cache; the table of
/// cuts is no larger than the matrix.
template <class T>
class ColumnBlocks {
 public:
  ColumnBlocks(const tenon::Call& call, const tenon::Csr<const T>& matrix, std::int64_t result_columns) : matrix_(matrix) {
    constexpr std::int64_t cached_bytes = 512 << 10, narrowest = 64;
    const auto cached = cached_bytes / (std::max<std::int64_t>(result_columns, 1) * static_cast<std::int64_t>(sizeof(T)));
    const auto shared = call.threads() > 1 ? matrix.columns / (2 * call.threads()) + 1 : matrix.columns;
    const auto most = std::max<std::int64_t>(matrix.nnz / std::max<std::int64_t>(matrix.rows, 1), 1);
    width_ = std::max({std::min(cached, shared), narrowest, (matrix.columns + most - 1) / most});
    count_ = (matrix.columns + width_ - 1) / width_;
    cuts_.resize(static_cast<std::size_t>(matrix.rows * (count_ + 1)));
    call.parallel_for(matrix.rows, 1 + (1 << 16) / (count_ + 1), [&](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row) cut(row);
    });
  }

  std::int64_t count() const { return count_; }
  std::int64_t first(std::int64_t block) const { return block * width_; }
  std::int64_t last(std::int64_t block) const { return std::min(first(block + 1), matrix_.columns); }
  std::int64_t begin(std::int64_t row, std::int64_t block) const { return cuts_[static_cast<std::size_t>(row * (count_ + 1) + block)]; }
  const tenon::Csr<const T>& matrix() const { return matrix_; }

 private:
  void cut(std::int64_t row) {
    auto* const cuts = cuts_.data() + row * (count_ + 1);
    auto e = matrix_.row_starts[row];
    const auto end = matrix_.row_starts[row + 1];
    for (std::int64_t block = 0; block < count_; ++block) {
      const auto first_column = first(block);
      while (e < end && matrix_.columns_of[e] < first_column) ++e;
      cuts[block] = e;
    }
    cuts[count_] = end;
  }

  const tenon::Csr<const T>& matrix_;
  std::int64_t width_ = 1, count_ = 0;
  std::vector<std::int64_t> cuts_;
};

/// One block of columns for some rows at a time, transposed in a few kilobytes.
template <class T>
class BlockPanel {
 public:
  BlockPanel(const ColumnBlocks<T>& blocks, std::int64_t block)
      : blocks_(blocks),
        matrix_(blocks.matrix()),
        block_(block),
        first_(blocks.first(block)),
        width_(blocks.last(block) - first_),
        next_(static_cast<std::size_t>(width_)),
        rows_(capacity),
        values_(capacity) {}

  /// Takes rows from `row` on until there is enough to do; the row after the last.
  std::int64_t take(std::int64_t row) {
    const auto from = row;
    std::int64_t terms = 0;
    std::fill(next_.begin(), next_.end(), 0);
    for (; row < matrix_.rows; ++row) {
      const auto piece = piece_of(row);
      if (terms > 0 && terms + piece.count > capacity) break;
      count(piece);
      terms += piece.count;
    }
    reserve(terms);
    list_columns();
    for (auto r = from; r < row; ++r) place(piece_of(r), r);
    return row;
  }

  /// Adds the rows taken to their sums, which begin at `out`, one for each of `places` (for each column where there are none).
  void add(SumRows<T> run, const T* right, std::int64_t right_row, std::int64_t columns, T* out, const std::int64_t* places) {
    for (auto& id : ids_) id = places ? places[id] : id;
    run({starts_.data(), rows_.data(), values_.data(), right, right_row, columns, out, columns, ids_.data(), true}, 0,
        static_cast<std::int64_t>(ids_.size()));
  }

 private:
  static constexpr std::int64_t capacity = 16384;

  /// What a row stores in the block.
  struct Piece {
    const std::int64_t* columns_of;
    const T* values;
    std::int64_t count;
  };
  Piece piece_of(std::int64_t row) const {
    const auto begin = blocks_.begin(row, block_);
    return {matrix_.columns_of + begin, matrix_.values + begin, blocks_.begin(row, block_ + 1) - begin};
  }

  void count(Piece piece) {
    const auto first = first_;
    auto* const counts = next_.data();
    for (std::int64_t e = 0; e < piece.count; ++e) ++counts[piece.columns_of[e] - first];
  }
  void place(Piece piece, std::int64_t row) {
    const auto first = first_;
    auto* const next = next_.data();
    auto* const rows = rows_.data();
    T* const values = values_.data();
    for (std::int64_t e = 0; e < piece.count; ++e) {
      const auto at = next[piece.columns_of[e] - first]++;
      rows[at] = row;
      values[at] = piece.values[e];
    }
  }

  void reserve(std::int64_t terms) {  // one long row may pass the capacity
    if (terms <= static_cast<std::int64_t>(rows_.size())) return;
    rows_.resize(static_cast<std::size_t>(terms));
    values_.resize(static_cast<std::size_t>(terms));
  }

  /// Counts become the places where the columns begin.
  void list_columns() {
    ids_.clear();
    starts_.assign(1, 0);
    for (std::int64_t column = 0; column < width_; ++column) {
      auto& next = next_[static_cast<std::size_t>(column)];
      if (next == 0) continue;
      ids_.push_back(first_ + column);
      starts_.push_back(starts_.back() + next);
      next = static_cast<std::int32_t>(starts_[starts_.size() - 2]);
    }
  }

  const ColumnBlocks<T>& blocks_;
  const tenon::Csr<const T>& matrix_;
  std::int64_t block_, first_, width_;
  std::vector<std::int32_t> next_;  // a panel has few terms
  std::vector<std::int64_t> ids_, starts_, rows_;
  std::vector<T> values_;
};

/// out = matrix^T * right, whose rows are right_row elements apart. Row `places[i]` of out belongs to column i of the matrix, row i where
/// there are no places; out has out_rows rows. Each element is summed in the order of the matrix's rows, whatever the blocks.
template <class T>
void multiply_transposed(const tenon::Call& call, const tenon::Csr<const T>& matrix, const T* right, std::int64_t right_row,
                         std::int64_t columns, T* out, std::int64_t out_rows, const std::int64_t* places) {
  call.parallel_for(out_rows, 1 + (1 << 16) / std::max<std::int64_t>(columns, 1),
                    [&](std::int64_t begin, std::int64_t end) { std::fill(out + begin * columns, out + end * columns, T(0)); });
  const ColumnBlocks<T> blocks(call, matrix, columns);
  const auto run = best_sum_rows<T>();
  call.parallel_for(blocks.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto block = begin; block < end; ++block) {
      BlockPanel<T> panel(blocks, block);
      for (std::int64_t row = 0; row < matrix.rows;) {
        row = panel.take(row);
        panel.add(run, right, right_row, columns, out, places);
      }
    }
  });
}

}  // namespace sparse
