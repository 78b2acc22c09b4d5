// Sides of products of 8-bit integers as the micro-kernels read them, with the corrections for zero
// points.
//
// VNNI multiplies unsigned by signed bytes, so int8 on the left and uint8 on the right are shifted
// by 128, and so are their zero points: sum (a - za)(b - zb) does not change.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <tenon/operator.hpp>
#include <vector>

#include "micro_kernel_int8.hpp"
#include "operand.hpp"
#include "product_choice.hpp"

namespace product::int8 {

using Sum = std::int32_t;

/// The layout of words, which a product looks up once.
struct Format {
  Algorithm algorithm;
  std::int64_t steps;  ///< steps of the depth in a word: 4 bytes, or 2 16-bit integers
  void (*multiply)(std::int64_t rows, const Block& operands);

  /// Added to each element of that dtype, and to its zero point.
  int left_shift(tenon::DType dtype) const { return steps == 4 && dtype == tenon::i8 ? 128 : 0; }
  int right_shift(tenon::DType dtype) const { return steps == 4 && dtype == tenon::u8 ? -128 : 0; }
  std::int64_t words_of(std::int64_t depth) const { return (depth + steps - 1) / steps; }
};

inline const Format& format_of([[maybe_unused]] Algorithm algorithm) {
  static constexpr Format scalar{Algorithm::int8_scalar, 2, multiply_scalar};
#if defined(TENON_WIDE_LEVELS)
  static constexpr Format avx2{Algorithm::int8_avx2, 2, multiply_avx2},
      vnni{Algorithm::int8_vnni, 4, multiply_vnni};
  if (algorithm == Algorithm::int8_vnni) return vnni;
  if (algorithm == Algorithm::int8_avx2) return avx2;
#endif
  return scalar;
}

inline const Format& usable_format() {
  static const Format& format = format_of(choose(Multiplies::int8).algorithm);
  return format;
}

/// A contiguous matrix of 8-bit integers.
struct Matrix {
  const void* data;
  tenon::DType dtype;
  std::int64_t row_size;  ///< elements per stored row
  bool transposed = false;
};

inline std::int64_t padded(std::int64_t columns) {
  return vectors_of(columns) * vector;
}

/// One word of up to `steps` elements that are `step` apart; missing ones are zero.
template <int steps, class T>
[[gnu::always_inline]] inline Word word_of(const T* from, std::int64_t step, std::int64_t count,
                                           int shift) {
  Word word = 0;
  for (int i = 0; i < steps; ++i) {
    const auto value = i < count ? static_cast<Word>(static_cast<int>(from[i * step]) + shift) : 0;
    word |= (value & (steps == 4 ? 0xffu : 0xffffu)) << (32 / steps * i);
  }
  return word;
}

/// Returns the sum of bytes, modulo 2^32.
template <class T>
Word sum_of_bytes(const T* from, std::int64_t count) {
  return tenon::wide([=] {
    Word sum = 0;
    for (std::int64_t k = 0; k < count; ++k) sum += static_cast<Word>(from[k]);
    return sum;
  });
}

/// Shifts `depth` bytes of a row in place and pads it with zeros to a whole word. `sum`: null, or
/// for the sum of its shifted elements, modulo 2^32.
inline void finish_row(std::uint8_t* bytes, std::int64_t depth, int shift, Word* sum) {
  if (shift != 0)
    tenon::wide([=] {
      for (std::int64_t k = 0; k < depth; ++k)
        bytes[k] = static_cast<std::uint8_t>(bytes[k] ^ 0x80);
    });
  for (std::int64_t k = depth; k % 4 != 0; ++k) bytes[k] = 0;
  if (sum) *sum = sum_of_bytes(bytes, depth);
}

/// Writes one row of `depth` elements in words, padded with zeros, and its sum as finish_row().
template <int steps, class T>
void pack_row(const T* from, std::int64_t depth, int shift, Word* to, Word* sum) {
  if constexpr (steps == 4) {
    std::memcpy(to, from, static_cast<std::size_t>(depth));
    finish_row(reinterpret_cast<std::uint8_t*>(to), depth, shift, sum);
  } else {
    auto* const pairs = reinterpret_cast<std::int16_t*>(to);
    tenon::wide([=] {
      for (std::int64_t k = 0; k < depth; ++k) pairs[k] = from[k];
    });
    if (depth % 2 != 0) pairs[depth] = 0;
    if (sum) *sum = sum_of_bytes(from, depth);
  }
}

/// The packed right side: panels of max_columns, each [words][padded columns], and the sums of the
/// shifted elements of each column.
class PackedRight {
 public:
  PackedRight(std::int64_t depth, std::int64_t columns, const Format& format = usable_format())
      : format_(format), depth_(depth), columns_(columns), words_(format.words_of(depth)) {}

  std::size_t bytes() const {
    return sizeof(Word) * static_cast<std::size_t>((words_ + 1) * padded(columns_));
  }
  std::string packing() const {
    return tenon::join("panels of ", max_columns, " x ", format_.steps,
                       format_.steps == 4 ? " bytes" : " 16-bit integers", " and sums");
  }

  const Word* panel(const void* packed, std::int64_t column) const {
    return static_cast<const Word*>(packed) + column * words_;
  }
  const Sum* sums(const void* packed) const {
    return static_cast<const Sum*>(packed) + words_ * padded(columns_);
  }

  /// `to`: bytes() bytes.
  void pack(const Matrix& matrix, void* to) const {
    const auto with = [&]<class T>() {
      format_.steps == 4 ? pack_in<4, T>(matrix, to) : pack_in<2, T>(matrix, to);
    };
    matrix.dtype == tenon::u8 ? with.template operator()<std::uint8_t>()
                              : with.template operator()<std::int8_t>();
  }

 private:
  template <int steps, class T>
  void pack_in(const Matrix& matrix, void* to) const {
    const auto* const data = static_cast<const T*>(matrix.data);
    const int shift = format_.right_shift(matrix.dtype);
    auto* const sums = static_cast<Word*>(to) + words_ * padded(columns_);
    std::fill_n(sums, padded(columns_), Word{0});
    for (std::int64_t column = 0; column < columns_; column += max_columns) {
      const auto count = std::min(max_columns, columns_ - column), width = padded(count);
      auto* const panel = static_cast<Word*>(to) + column * words_;
      const auto row_size = matrix.row_size;
      for (std::int64_t k = 0; k < words_; ++k) {
        const auto left = std::min<std::int64_t>(steps, depth_ - k * steps);
        Word* const words = panel + k * width;
        if (matrix.transposed)
          for (std::int64_t j = 0; j < count; ++j)
            words[j] = word_of<steps>(data + (column + j) * row_size + k * steps, 1, left, shift);
        else
          pack_words<steps>(data + k * steps * row_size + column, row_size, left, count, shift,
                            words);
        std::fill(words + count, words + width, Word{0});
        add_words<steps>(words, count, sums + column);
      }
    }
  }

  template <int steps, class T>
  static void pack_words(const T* from, std::int64_t row_size, std::int64_t left,
                         std::int64_t count, int shift, Word* to) {
    if (left < steps) {
      for (std::int64_t j = 0; j < count; ++j)
        to[j] = word_of<steps>(from + j, row_size, left, shift);
      return;
    }
    tenon::wide([=] {
      for (std::int64_t j = 0; j < count; ++j)
        to[j] = word_of<steps>(from + j, row_size, steps, shift);
    });
  }

  /// Adds the elements of words, which are signed in both formats.
  template <int steps>
  static void add_words(const Word* words, std::int64_t count, Word* sums) {
    tenon::wide([=] {
      for (std::int64_t j = 0; j < count; ++j)
        for (int i = 0; i < steps; ++i) {
          const Word top = words[j] << (32 - 32 / steps * (i + 1));
          sums[j] += static_cast<Word>(static_cast<std::int32_t>(top) >> (32 - 32 / steps));
        }
    });
  }

  const Format& format_;
  std::int64_t depth_, columns_, words_;
};

}  // namespace product::int8
