// Matrix products of the recurrent operators on the CPU. Each element of a result has one
// accumulator, so bits depend neither on the number of threads nor on how samples are grouped.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>

#include "../../shared/gemm.hpp"
#include "../../shared/product/multiply.hpp"

namespace recurrent {

/// result[rows, columns] = left * right.
inline void multiply(const tenon::Call& call, const gemm::Operand<float>& left,
                     const gemm::Operand<float>& right, float* result, const product::Size& size) {
  product::multiply(call, left, {right}, result, size, {});
}
inline void multiply(const tenon::Call& call, const gemm::Operand<double>& left,
                     const gemm::Operand<double>& right, double* result,
                     const product::Size& size) {
  gemm::multiply(call, left, right, result, {size.rows, size.columns}, size.depth, 0);
}

/// to = start + left * rows `first` to `first + depth` of matrix `matrix` of a StepMatrix.
template <class W>
struct StepProduct {
  std::int64_t matrix, first, depth, rows;
  const W* left;
  std::int64_t left_row;
  const W* start;  ///< null for zeros, or one for each column
  W* to;
  std::int64_t to_row;
  int threads;     ///< that may compute it
  bool backwards;  ///< last columns first: they are still in the cache after a product without it
};

/// Matrices [depth, columns] that multiply a few rows at every step. `from` has them, or their
/// transposes if `transposed`, `stride` elements apart.
template <class W>
struct MatrixSource {
  const W* from;
  std::int64_t stride;
  bool transposed;
  std::int64_t matrices, depth, columns;

  gemm::Operand<W> at(std::int64_t i) const {
    return {from + i * stride, transposed ? depth : columns, transposed};
  }
  std::int64_t packed_size() const { return matrices * product::packed_size(depth, columns); }
};

/// Such matrices, as steps multiply them: float ones in panels, which have the whole depth.
template <class W>
class StepMatrix;

template <>
class StepMatrix<float> {
 public:
  static void pack(const MatrixSource<float>& source, std::int64_t i, float* to) {
    product::pack(source.at(i), source.depth, source.columns,
                  to + i * product::packed_size(source.depth, source.columns));
  }

  /// packed: null, or all matrices as pack() packs them. memory: null, or for source.packed_size()
  /// floats.
  StepMatrix(const tenon::Call& call, const MatrixSource<float>& source, const void* packed,
             float* memory)
      : depth_(source.depth), columns_(source.columns), packed_(static_cast<const float*>(packed)) {
    if (packed_) return;
    if (!memory) own_.reset(new float[static_cast<std::size_t>(source.packed_size())]);
    float* const to = memory ? memory : own_.get();
    packed_ = to;
    const auto each = std::max<std::int64_t>(depth_ * columns_, 1);
    call.parallel_for(source.matrices, 1 + worth_a_thread / each, [&](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) pack(source, i, to);
    });
  }

  void multiply(const tenon::Call& call, const StepProduct<float>& at) const {
    const auto panels = (columns_ + level_.cut.panel - 1) / level_.cut.panel;
    const auto chunks =
        std::min<std::int64_t>(at.threads, at.rows * at.depth * columns_ / worth_a_thread);
    call.parallel_for(
        panels, chunks > 1 ? (panels + chunks - 1) / chunks : panels,
        [&](std::int64_t begin, std::int64_t end) { multiply_panels(at, begin, end); });
  }

 private:
  static constexpr std::int64_t worth_a_thread = 150'000;  // multiplications

  void multiply_panels(const StepProduct<float>& at, std::int64_t begin, std::int64_t end) const {
    const auto whole = std::min(end, columns_ / level_.cut.panel);
    if (end > whole && at.backwards) multiply_blocks(at, whole, end);
    if (at.rows == 1 && level_.multiply_row)
      level_.multiply_row(block(at, begin), level_.cut.panel * depth_, whole - begin, at.backwards);
    else
      multiply_blocks(at, begin, whole);
    if (end > whole && !at.backwards) multiply_blocks(at, whole, end);
  }

  /// Panels of the same width.
  void multiply_blocks(const StepProduct<float>& at, std::int64_t begin, std::int64_t end) const {
    if (begin == end) return;
    const auto first = block(at, begin);
    const product::Blocks blocks{at.rows, level_.max_rows(first.columns)};
    for (auto i = begin; i < end; ++i) {
      const auto panel = at.backwards ? end - 1 - (i - begin) : i,
                 column = (panel - begin) * level_.cut.panel;
      auto operands = first;
      operands.right += column * depth_;
      if (operands.start) operands.start += column;
      for (std::int64_t b = 0; b < blocks.count; ++b) {
        const auto row = blocks.begin(b);
        operands.left = first.left + row * at.left_row;
        operands.result = first.result + row * at.to_row + column;
        level_.multiply(blocks.begin(b + 1) - row, operands);
      }
    }
  }

  product::Block block(const StepProduct<float>& at, std::int64_t panel) const {
    const auto column = panel * level_.cut.panel,
               columns = std::min(level_.cut.panel, columns_ - column),
               width = product::padded(columns);
    return {at.left,
            at.left_row,
            1,
            packed_ + at.matrix * product::packed_size(depth_, columns_) + column * depth_ +
                at.first * width,
            width,
            at.start ? at.start + column : nullptr,
            0,
            at.to + column,
            at.to_row,
            columns,
            at.depth};
  }

  const product::Level& level_ = product::usable_level();
  std::int64_t depth_, columns_;
  std::unique_ptr<float[]> own_;
  const float* packed_;
};

template <>
class StepMatrix<double> {
 public:
  StepMatrix(const tenon::Call&, const MatrixSource<double>& source, const void*, double*)
      : source_(source) {
    gemm::prepare({source.depth, source.columns});
  }

  void multiply(const tenon::Call&, const StepProduct<double>& at) const {
    const auto columns = source_.columns;
    for (std::int64_t row = 0; row < at.rows; ++row)
      at.start ? std::copy_n(at.start, columns, at.to + row * at.to_row)
               : std::fill_n(at.to + row * at.to_row, columns, 0.0);
    const auto right = source_.at(at.matrix);
    if (at.depth > 0 && at.rows > 0 && columns > 0)
      cblas_dgemm(CblasRowMajor, CblasNoTrans, gemm::order(right), static_cast<blasint>(at.rows),
                  static_cast<blasint>(columns), static_cast<blasint>(at.depth), 1, at.left,
                  static_cast<blasint>(at.left_row), right.row(at.first),
                  static_cast<blasint>(right.row_size), 1, at.to, static_cast<blasint>(at.to_row));
  }

 private:
  MatrixSource<double> source_;
};

}  // namespace recurrent
