// Dequantization: the inverse of quantize.
#pragma once
#include "quantization.hpp"

enum class DequantizedDType : std::int32_t { of_scale, f32, f16, bf16 };

struct Dequantize : tenon::Operator {
  static constexpr tenon::Types results = {tenon::f32, tenon::f16, tenon::bf16};
  static constexpr tenon::Types whole = {tenon::u8, tenon::i8, tenon::u16, tenon::i16, tenon::i32},
                                quantized = whole + quantization::low_bit_quantized;
  static constexpr tenon::Types eight_bits = {tenon::u8, tenon::i8};
  std::int64_t axis = 1, block_size = 0;
  DequantizedDType dtype = DequantizedDType::of_scale;

  static constexpr void describe(auto& op) {
    op.doc("(x - zero_point) * scale, computed in float32 and rounded to y's dtype once");
    op.types(quantized);
    op.input("x", "quantized numbers, any shape");
    op.input("scale",
             "[] or [1] (per tensor), [size of x along `axis`] (per axis), or x's shape with "
             "ceil(size / block_size) along `axis` (blocked)")
        .types(quantization::scale_types);
    op.input("zero_point", "quantized value that represents 0; same shape as scale; default: 0")
        .optional();
    op.output("y", "same shape as x");
    op.param("axis", &Dequantize::axis,
             "axis of x along which scale differs (per axis or blocked); negative axes count from "
             "the end");
    op.param("block_size", &Dequantize::block_size,
             "number of elements along `axis` that share one scale; 0: not blocked, so scale has "
             "at most one dimension")
        .at_least(0);
    op.param("dtype", &Dequantize::dtype,
             "dtype of y; of_scale: same as scale, which must then not be float8_e8m0fnu")
        .one_of({{"of_scale", DequantizedDType::of_scale},
                 {"float32", DequantizedDType::f32},
                 {"float16", DequantizedDType::f16},
                 {"bfloat16", DequantizedDType::bf16}});
    op.example(
        {{"x", {2, 3}, tenon::u8}, {"scale", {3}, tenon::f32}, {"zero_point", {3}, tenon::u8}});
    op.example({{"x", {2, 5}, tenon::i8}, {"scale", {2, 3}, tenon::f32}}, {{"block_size", 2}});
    op.example({{"x", {2, 3}, tenon::u4}, {"scale", {}, tenon::f32}});
    op.example({{"x", {2, 4}, tenon::f8e4m3fn}, {"scale", {2, 2}, tenon::f8e8m0fnu}},
               {{"block_size", 2}, {"dtype", "float32"}});
    op.onnx("", "DequantizeLinear")
        .since(10)
        .attribute("axis", "axis")
        .attribute("block_size", "block_size")
        .attribute("output_dtype", "dtype", 0)
        .value("dtype", 0, "of_scale")
        .value("dtype", 1, "float32")
        .value("dtype", 10, "float16")
        .value("dtype", 16, "bfloat16");
  }

  void infer(tenon::Infer& io) const {
    quantization::infer_zero_point(io);
    quantization::check(io, axis, block_size);
    const auto scale = io.input("scale").dtype;
    if (result(scale) == tenon::f8e8m0fnu)
      io.param_error("dtype",
                     "is of_scale, but scale is float8_e8m0fnu: needs float32, float16 or "
                     "bfloat16");
    io.set_output(0, io.input("x").shape, result(scale));
    io.set_input(0, io.output(0).shape);
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input_type(0), scale = call.input_type(1);
    if (scale.dtype == tenon::f32 && result(scale.dtype) == tenon::f32 && block_size == 0 &&
        quantization::is_single(scale.shape) && eight_bits.has(x.dtype))
      return dequantize_by_one(call);
    const quantization::ScaleSegments segments(x.shape, scale.shape, axis, block_size);
    tenon::visit<results>(result(scale.dtype), [&]<class Y>() {
      Y* const y = call.output<Y>(0).data();
      const void *from = quantization::elements(call, 0), *scales = quantization::elements(call, 1);
      const void* zeros = call.has_input(2) ? quantization::elements(call, 2) : nullptr;
      call.parallel_for(x.shape.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
        float difference[quantization::block], factor[quantization::block];
        segments.each(
            begin, end, [&](std::int64_t first, std::int64_t count, std::int64_t at, bool own) {
              if (tenon::low_bit.has(x.dtype)) {
                subtract_low_bits(x.dtype, from, first, zeros, at, own, count, difference);
              } else {
                tenon::visit<whole>(x.dtype, [&]<class X>() {
                  const X* const zero = zeros ? static_cast<const X*>(zeros) + at : nullptr;
                  subtract(static_cast<const X*>(from) + first, zero, own, count, difference);
                });
              }
              quantization::widen<results>(scale.dtype, scales, at, !own, count, factor);
              tenon::elementwise::for_each(
                  count, [=, d = difference, f = factor, to = y + first](std::int64_t i) {
                    to[i] = static_cast<Y>(d[i] * f[i]);
                  });
            });
      });
    });
  }

 protected:
  tenon::DType result(tenon::DType scale) const {
    switch (dtype) {
      case DequantizedDType::f32:
        return tenon::f32;
      case DequantizedDType::f16:
        return tenon::f16;
      case DequantizedDType::bf16:
        return tenon::bf16;
      default:
        return scale;
    }
  }

 private:
  /// One scale for all elements, 8 bits to float32.
  static void dequantize_by_one(const tenon::Call& call) {
    tenon::visit<eight_bits>(call.input_type(0).dtype, [&]<class X>() {
      const auto x = call.input<X>(0);
      const auto y = call.output<float>(0);
      const std::int32_t zero = call.has_input(2) ? *call.input<X>(2).data() : 0;
      const float factor = *call.input<float>(1).data();
      call.parallel_for(x.size(), 16384, [&](std::int64_t begin, std::int64_t end) {
        tenon::elementwise::for_each(
            end - begin, [=, from = x.data() + begin, to = y.data() + begin](std::int64_t i) {
              to[i] = static_cast<float>(from[i] - zero) * factor;
            });
      });
    });
  }

  static void subtract_low_bits(tenon::DType dtype, const void* x, std::int64_t first,
                                const void* zeros, std::int64_t at, bool own, std::int64_t count,
                                float* difference) {
    const auto& format = tenon::low_bit_format(dtype);
    quantization::decode(format, x, first, false, count, difference);
    if (!zeros) return;
    float zero[quantization::block];
    quantization::decode(format, zeros, at, !own, count, zero);
    for (std::int64_t i = 0; i < count; ++i) difference[i] -= zero[i];
  }

  /// Subtracts in 64-bit integers, which hold any difference exactly, before the conversion to
  /// float.
  template <class X>
  static void subtract(const X* x, const X* zero, bool own, std::int64_t count, float* difference) {
    using Wide = std::conditional_t<sizeof(X) == 4, std::int64_t, std::int32_t>;
    const Wide one = zero ? static_cast<Wide>(*zero) : 0;
    if (zero && own) {
      tenon::elementwise::for_each(count, [=](std::int64_t i) {
        difference[i] = static_cast<float>(static_cast<Wide>(x[i]) - static_cast<Wide>(zero[i]));
      });
    } else {
      tenon::elementwise::for_each(count, [=](std::int64_t i) {
        difference[i] = static_cast<float>(static_cast<Wide>(x[i]) - one);
      });
    }
  }
};
