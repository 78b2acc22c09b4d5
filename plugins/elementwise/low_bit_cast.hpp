// Conversion to and from low-bit dtypes, through blocks of float or int8.
#pragma once
#include <algorithm>
#include <cstdint>
#include <tenon/dtype.hpp>
#include <tenon/visit.hpp>

/// Converts elements of two dtypes of which at least one is a low-bit one, rounding once.
class LowBitCast {
 public:
  /// `convert_block(from, to, in, out, count)` converts between all other dtypes.
  using ConvertBlock = void (*)(tenon::DType, tenon::DType, const void*, void*, std::int64_t);

  LowBitCast(tenon::DType from, tenon::DType to, bool saturate, tenon::PowerRounding rounding,
             ConvertBlock convert_block)
      : from_(from),
        to_(to),
        saturate_(saturate),
        rounding_(rounding),
        convert_block_(convert_block) {
    if (!tenon::low_bit.has(from)) return;
    const auto& format = tenon::low_bit_format(from);
    for (int code = 0; code < 256; ++code)
      decoded_[code] = format.decode(static_cast<std::uint8_t>(code));
  }

  void operator()(const std::byte* in, std::byte* out, std::int64_t count) const {
    const auto from_size = static_cast<std::int64_t>(size_of(from_)),
               to_size = static_cast<std::int64_t>(size_of(to_));
    for (std::int64_t i = 0; i < count; i += block)
      convert(in + i * from_size, out + i * to_size, std::min(block, count - i));
  }

 private:
  static constexpr std::int64_t block = 256;
  static constexpr tenon::Types whole = tenon::any_integer + tenon::Types{tenon::boolean},
                                wide = {tenon::f64, tenon::i32, tenon::i64, tenon::u32, tenon::u64};

  void convert(const std::byte* in, std::byte* out, std::int64_t n) const {
    float numbers[block];
    std::int8_t integers[block];
    const bool from_integers = (whole + tenon::low_bit_integers).has(from_);
    if (!tenon::low_bit.has(to_)) {  // so `from` is low-bit
      decode(in, n, numbers);
      if (!from_integers) return convert_block_(tenon::f32, to_, numbers, out, n);
      std::copy_n(numbers, n, integers);
      return convert_block_(tenon::i8, to_, integers, out, n);
    }
    if (from_integers && tenon::low_bit_integers.has(to_)) {  // wraps around
      if (whole.has(from_)) {
        convert_block_(from_, tenon::i8, in, integers, n);
      } else {
        decode(in, n, numbers);
        std::copy_n(numbers, n, integers);
      }
      const auto mask = tenon::low_bit_format(to_).mask();
      for (std::int64_t i = 0; i < n; ++i)
        out[i] = static_cast<std::byte>(static_cast<std::uint32_t>(integers[i]) & mask);
      return;
    }
    widen(in, n, numbers);
    const auto& format = tenon::low_bit_format(to_);
    for (std::int64_t i = 0; i < n; ++i)
      out[i] = static_cast<std::byte>(format.encode(numbers[i], saturate_, rounding_));
  }

  void decode(const std::byte* in, std::int64_t n, float* numbers) const {
    for (std::int64_t i = 0; i < n; ++i)
      numbers[i] = decoded_[std::to_integer<std::uint8_t>(in[i])];
  }

  /// To float; numbers of more than 24 bits are rounded to odd, so that encode() rounds correctly.
  void widen(const std::byte* in, std::int64_t n, float* numbers) const {
    if (tenon::low_bit.has(from_)) return decode(in, n, numbers);
    if (!wide.has(from_)) return convert_block_(from_, tenon::f32, in, numbers, n);
    tenon::visit<wide>(from_, [&]<class From>() {
      const From* const x = reinterpret_cast<const From*>(in);
      for (std::int64_t i = 0; i < n; ++i) numbers[i] = tenon::halves::odd_float(x[i]);
    });
  }

  tenon::DType from_, to_;
  bool saturate_;
  tenon::PowerRounding rounding_;
  ConvertBlock convert_block_;
  float decoded_[256] = {};
};
