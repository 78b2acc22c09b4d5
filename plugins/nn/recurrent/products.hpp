// Matrix products of the recurrent operators on the CPU. Each element of a result has one
// accumulator, so bits depend neither on the number of threads nor on how samples are grouped.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "../../shared/gemm.hpp"
#include "../../shared/product/multiply.hpp"

namespace recurrent {

/// result[rows, columns] = bias + left * right, or (with `add`) += left * right. bias: null, or one
/// for each column. packed: null, or the right side as product::F32Arithmetic packs it.
inline void multiply(const tenon::Call& call, const gemm::Operand<float>& left,
                     const gemm::Operand<float>& right, float* result, const product::Size& size,
                     const float* bias = nullptr, bool add = false, const void* packed = nullptr) {
  product::multiply(call, left, {right, static_cast<const float*>(packed)}, result, size, {bias, 0},
                    add);
}
inline void multiply(const tenon::Call& call, const gemm::Operand<double>& left,
                     const gemm::Operand<double>& right, double* result, const product::Size& size,
                     const double* bias = nullptr, bool add = false, const void* = nullptr) {
  for (std::int64_t row = 0; bias && row < size.rows; ++row)
    std::copy_n(bias, size.columns, result + row * size.columns);
  gemm::multiply(call, left, right, result, {size.rows, size.columns}, size.depth,
                 add || bias ? 1 : 0);
}

/// A product with some of the matrices of a StepMatrix: to[row][i] = start[i] + left[row] * rows
/// `first` to `first + depth` of matrix `matrix + i`.
template <class W>
struct StepProduct {
  std::int64_t matrix, matrices, first, depth;
  std::int64_t rows;
  const W* left;
  std::int64_t left_row;
  const W* start;  ///< null for zeros, or [matrices][columns]
  W* to;
  std::int64_t to_row, to_matrix;  ///< strides
  int threads;                     ///< that may compute it
};

/// Matrices [depth, columns] that multiply a few rows at every step, packed in panels.
template <class W>
class StepMatrix;

template <>
class StepMatrix<float> {
 public:
  /// `transposed`: `from` has their transposes. packed: null, or what pack() filled.
  StepMatrix(const tenon::Call& call, const float* from, bool transposed, std::int64_t matrices,
             std::int64_t depth, std::int64_t columns, const void* packed = nullptr)
      : depth_(depth), columns_(columns), packed_(static_cast<const float*>(packed)) {
    if (packed_) return;
    own_.reset(new float[static_cast<std::size_t>(matrices * size())]);
    packed_ = own_.get();
    call.parallel_for(matrices, grain(matrices, depth * columns), [&](auto begin, auto end) {
      for (auto i = begin; i < end; ++i)
        product::pack({from + i * depth * columns, transposed ? depth : columns, transposed}, depth,
                      columns, own_.get() + i * size());
    });
  }

  void multiply(const tenon::Call& call, const StepProduct<float>& at) const {
    const auto panel = level_.cut.panel, panels = (columns_ + panel - 1) / panel,
               count = at.matrices * panels;
    const auto chunks = std::min<std::int64_t>(
        at.threads, at.rows * at.depth * at.matrices * columns_ / worth_a_thread);
    call.parallel_for(count, chunks > 1 ? (count + chunks - 1) / chunks : count,
                      [&](std::int64_t begin, std::int64_t end) {
                        for (auto i = begin; i < end; ++i)
                          multiply_panel(at, i / panels, i % panels * panel);
                      });
  }

 private:
  static constexpr std::int64_t worth_a_thread = 150'000;  // multiplications

  static std::int64_t grain(std::int64_t count, std::int64_t each) {
    return std::clamp<std::int64_t>(worth_a_thread / std::max<std::int64_t>(each, 1), 1,
                                    std::max<std::int64_t>(count, 1));
  }
  std::int64_t size() const { return product::packed_size(depth_, columns_); }

  void multiply_panel(const StepProduct<float>& at, std::int64_t i, std::int64_t column) const {
    const auto columns = std::min(level_.cut.panel, columns_ - column),
               width = product::padded(columns);
    const product::Blocks blocks{at.rows, level_.max_rows(columns)};
    product::Block block{};
    block.left_row = at.left_row, block.left_depth = 1;
    block.right = packed_ + (at.matrix + i) * size() + column * depth_ + at.first * width;
    block.right_row = width;
    block.start = at.start ? at.start + i * columns_ + column : nullptr;
    block.result_row = at.to_row;
    block.columns = columns, block.depth = at.depth;
    for (std::int64_t b = 0; b < blocks.count; ++b) {
      block.left = at.left + blocks.begin(b) * at.left_row;
      block.result = at.to + blocks.begin(b) * at.to_row + i * at.to_matrix + column;
      level_.multiply(blocks.begin(b + 1) - blocks.begin(b), block);
    }
  }

  const product::Level& level_ = product::usable_level();
  std::int64_t depth_, columns_;
  std::unique_ptr<float[]> own_;
  const float* packed_;
};

template <>
class StepMatrix<double> {
 public:
  StepMatrix(const tenon::Call&, const double* from, bool transposed, std::int64_t,
             std::int64_t depth, std::int64_t columns, const void* = nullptr)
      : from_(from), transposed_(transposed), depth_(depth), columns_(columns) {
    gemm::prepare({depth, columns});
  }

  void multiply(const tenon::Call&, const StepProduct<double>& at) const {
    for (std::int64_t i = 0; i < at.matrices; ++i) {
      double* const to = at.to + i * at.to_matrix;
      for (std::int64_t row = 0; row < at.rows; ++row)
        if (at.start)
          std::copy_n(at.start + i * columns_, columns_, to + row * at.to_row);
        else
          std::fill_n(to + row * at.to_row, columns_, 0.0);
      const gemm::Operand<double> right{from_ + (at.matrix + i) * depth_ * columns_,
                                        transposed_ ? depth_ : columns_, transposed_};
      if (at.depth > 0 && at.rows > 0 && columns_ > 0)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, gemm::order(right), static_cast<blasint>(at.rows),
                    static_cast<blasint>(columns_), static_cast<blasint>(at.depth), 1, at.left,
                    static_cast<blasint>(at.left_row), right.row(at.first),
                    static_cast<blasint>(right.row_size), 1, to, static_cast<blasint>(at.to_row));
    }
  }

 private:
  const double* from_;
  bool transposed_;
  std::int64_t depth_, columns_;
};

}  // namespace recurrent
