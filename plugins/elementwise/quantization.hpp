// Shared by quantize and dequantize: mapping elements to scales, and blockwise conversion to float.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tenon/elementwise.hpp>
#include <tenon/operator.hpp>

#include "../shared/rounded_quotients.hpp"

namespace quantization {
inline constexpr std::int64_t block = 256;

inline bool is_single(const tenon::Shape& shape) {
  return shape.rank() == 0 || (shape.rank() == 1 && shape[0] == 1);
}

inline bool may_differ(std::int64_t left, std::int64_t right) {
  return left != right && left != tenon::unknown && right != tenon::unknown;
}

/// Fails unless there is one scale for all of x, one per index of the axis, or one per block of
/// `size` indices along it.
inline void check(const tenon::Infer& io, std::int64_t axis, std::int64_t size) {
  const auto x = io.input("x").shape, scale = io.input("scale").shape;
  if (!x.has_rank() || !scale.has_rank() ||
      (size == 0 && (is_single(scale) || scale == tenon::Shape{tenon::unknown})))
    return;
  if (axis < -x.rank() || axis >= x.rank())
    io.param_error("axis", "is ", axis, ", but x has ", x.rank(), " dimensions");
  const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  if (size == 0) {
    io.require(scale.rank() == 1, "scale is ", scale,
               " but needs at most one dimension; set block_size for more");
    io.require(!may_differ(scale[0], x[at]), "scale is ", scale, " but x is ", x,
               ": needs one scale for each of the ", x[at], " indices along axis ", at);
    return;
  }
  bool fits = scale.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) {
    const auto blocks = i == at && x[i] != tenon::unknown ? (x[i] + size - 1) / size : x[i];
    fits = !may_differ(scale[i], blocks);
  }
  io.require(fits, "scale is ", scale, " but x is ", x, ": needs one scale for each block of ",
             size, " elements along axis ", at, ", and the sizes of x along the other axes");
}

/// Requires the zero point to have scale's shape; [] and [1] both count as a single number.
inline void infer_zero_point(tenon::Infer& io) {
  if (!io.has_input("zero_point")) return;
  const auto zero = io.input("zero_point").shape, scale = io.input("scale").shape;
  const auto may_be_single = [](const tenon::Shape& shape) {
    return is_single(shape) || shape == tenon::Shape{tenon::unknown};
  };
  if (zero != scale && may_be_single(zero) && may_be_single(scale))
    return;  // left to the run, when the sizes are known
  io.set_input("zero_point", scale);
}

/// Splits x into segments whose elements share one scale or have one each.
class ScaleSegments {
 public:
  ScaleSegments(const tenon::Shape& x, const tenon::Shape& scale, std::int64_t axis,
                std::int64_t size)
      : single_(is_single(scale) && size == 0) {
    if (single_) return;
    const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
    length_ = x[at];
    for (int i = at + 1; i < x.rank(); ++i) inner_ *= x[i];
    size_ = size;
    blocks_ = size == 0 ? 0 : (length_ + size - 1) / size;
  }

  /// Returns the index of the scale of element i.
  TENON_FN std::int64_t scale_of(std::int64_t i) const {
    if (single_) return 0;
    const auto row = i / inner_, at = row % length_;
    return size_ == 0 ? at : (row / length_ * blocks_ + at / size_) * inner_ + i % inner_;
  }

  /// Splits [begin, end) into calls work(first element, count <= `block`, first scale, whether each
  /// element has its own scale).
  template <class Work>
  void each(std::int64_t begin, std::int64_t end, const Work& work) const {
    while (begin < end) {
      std::int64_t count = std::min(block, end - begin), scale = 0;
      bool own = false;
      if (!single_) limit_segment(begin, count, scale, own);
      work(begin, count, scale, own);
      begin += count;
    }
  }

 private:
  void limit_segment(std::int64_t begin, std::int64_t& count, std::int64_t& scale,
                     bool& own) const {
    const auto at = begin / inner_ % length_;
    const bool blocked = size_ != 0;
    scale = scale_of(begin);
    if (inner_ > 1) {
      count = std::min(count, inner_ - begin % inner_);
      own = blocked;
    } else {
      count = std::min(count, blocked ? std::min(length_ - at, size_ - at % size_) : length_ - at);
      own = !blocked;
    }
  }
  bool single_;
  std::int64_t length_ = 1, inner_ = 1, size_ = 0, blocks_ = 0;
};

/// Writes `count` numbers from index `first` as float, or one number repeated `count` times.
template <class T>
void widen(const void* from, std::int64_t first, bool one, std::int64_t count, float* to) {
  const T* values = static_cast<const T*>(from) + first;
  if (one) return void(std::fill_n(to, count, static_cast<float>(*values)));
  tenon::elementwise::for_each(count,
                               [=](std::int64_t i) { to[i] = static_cast<float>(values[i]); });
}

/// The low-bit dtypes of quantized numbers; float8_e8m0fnu is one of scales.
inline constexpr tenon::Types low_bit_quantized = {
    tenon::f8e4m3fn, tenon::f8e4m3fnuz, tenon::f8e5m2, tenon::f8e5m2fnuz, tenon::f4e2m1fn,
    tenon::i4,       tenon::u4,         tenon::i2,     tenon::u2};
inline constexpr tenon::Types scale_types = {tenon::f32, tenon::f16, tenon::bf16, tenon::f8e8m0fnu};

inline void decode(const tenon::LowBitFormat& format, const void* from, std::int64_t first,
                   bool one, std::int64_t count, float* to) {
  const auto* codes = static_cast<const std::uint8_t*>(from) + first;
  if (one) return void(std::fill_n(to, count, format.decode(*codes)));
  for (std::int64_t i = 0; i < count; ++i) to[i] = format.decode(codes[i]);
}

/// For any of `types`, and low-bit dtypes.
template <tenon::Types types>
void widen(tenon::DType dtype, const void* from, std::int64_t first, bool one, std::int64_t count,
           float* to) {
  if (tenon::low_bit.has(dtype))
    return decode(tenon::low_bit_format(dtype), from, first, one, count, to);
  tenon::visit<types>(dtype, [&]<class T>() { widen<T>(from, first, one, count, to); });
}

/// x / scale, rounded to T.
template <class T>
TENON_FN float quotient(float x, float scale) {
  return static_cast<float>(static_cast<T>(x / scale));
}

inline const void* elements(const tenon::Call& call, int i) {
  const auto& dense = call.raw().inputs[i]->dense;
  return static_cast<const char*>(dense.data) + dense.byte_offset;
}
inline void* output(const tenon::Call& call) {
  const auto& dense = call.raw().outputs[0]->dense;
  return static_cast<char*>(dense.data) + dense.byte_offset;
}
}  // namespace quantization
