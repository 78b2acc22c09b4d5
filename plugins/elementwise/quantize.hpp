// Linear quantization to integers of 2 to 16 bits and floats of 4 and 8 bits, by scales and zero
// points.
#pragma once
#include "quantization.hpp"

struct Quantize : tenon::Operator {
  static constexpr tenon::Types whole_types = {tenon::u8, tenon::i8, tenon::u16, tenon::i16},
                                quantized_types = whole_types + quantization::low_bit_quantized;
  static constexpr tenon::Types eight_bits = {tenon::u8, tenon::i8};
  static constexpr tenon::Types float_types = {tenon::f32, tenon::f16, tenon::bf16},
                                number_types = float_types + tenon::Types{tenon::i32};
  std::int64_t axis = 1, block_size = 0;
  tenon::DType dtype = tenon::DType::u8;
  bool precise = false, saturate = true;

  static constexpr void describe(auto& op) {
    op.doc(
        "x / scale (rounded half to even for integer dtypes of y) plus zero_point, rounded and "
        "saturated to y's dtype");
    op.input("x", "any shape").types(number_types);
    op.input("scale",
             "[] or [1] (per tensor), [size of x along `axis`] (per axis), or x's shape with "
             "ceil(size / block_size) along `axis` (blocked)")
        .types(quantization::scale_types);
    op.input("zero_point",
             "quantized value that represents 0, of y's dtype; same shape as scale; default: 0")
        .optional()
        .types(quantized_types);
    op.output("y", "same shape as x; NaN becomes 0 if y's dtype has no NaN");
    op.param("axis", &Quantize::axis,
             "axis of x along which scale differs (per axis or blocked); negative axes count from "
             "the end");
    op.param("block_size", &Quantize::block_size,
             "number of elements along `axis` that share one scale; 0: not blocked, so scale has "
             "at most one dimension")
        .at_least(0);
    op.param("dtype", &Quantize::dtype,
             "dtype of y if zero_point is absent; otherwise y has the dtype of zero_point")
        .one_of(quantized_types);
    op.param("precise", &Quantize::precise,
             "divide in float32; false: round the quotient to scale's dtype (float8_e8m0fnu: "
             "float32) before it is rounded to y's");
    op.param("saturate", &Quantize::saturate,
             "for float8 dtypes: numbers beyond the largest one become it; false: infinity, or NaN "
             "in dtypes without infinities");
    op.example(
        {{"x", {2, 3}, tenon::f32}, {"scale", {3}, tenon::f32}, {"zero_point", {3}, tenon::u8}});
    op.example({{"x", {2, 5}, tenon::f32}, {"scale", {2, 3}, tenon::f32}},
               {{"block_size", 2}, {"dtype", "int8"}});
    op.example({{"x", {2, 3}, tenon::f32}, {"scale", {}, tenon::f32}}, {{"dtype", "uint4"}});
    op.example({{"x", {2, 4}, tenon::f32}, {"scale", {2, 2}, tenon::f8e8m0fnu}},
               {{"block_size", 2}, {"dtype", "float8_e4m3fn"}});
    op.onnx("", "QuantizeLinear")
        .since(10)
        .attribute("axis", "axis")
        .attribute("block_size", "block_size")
        .attribute("output_dtype", "dtype", 0)
        .value("dtype", 0, "uint8")
        .value("dtype", 2, "uint8")
        .value("dtype", 3, "int8")
        .value("dtype", 4, "uint16")
        .value("dtype", 5, "int16")
        .value("dtype", 17, "float8_e4m3fn")
        .value("dtype", 18, "float8_e4m3fnuz")
        .value("dtype", 19, "float8_e5m2")
        .value("dtype", 20, "float8_e5m2fnuz")
        .value("dtype", 21, "uint4")
        .value("dtype", 22, "int4")
        .value("dtype", 23, "float4_e2m1fn")
        .value("dtype", 25, "uint2")
        .value("dtype", 26, "int2")
        .attribute("precision", "precise", 0)
        .value("precise", 0, false)
        .value("precise", 1, true)
        .attribute("saturate", "saturate", 1)
        .value("saturate", 0, false)
        .value("saturate", 1, true);
  }

  void infer(tenon::Infer& io) const {
    const bool has_zero = io.has_input(2);
    const auto zero_point_dtype = io.input(2).dtype;
    quantization::infer_zero_point(io);
    io.require(!has_zero || dtype == tenon::u8 || zero_point_dtype == tenon::unknown_dtype ||
                   zero_point_dtype == dtype,
               "zero_point is ", zero_point_dtype, ", but parameter 'dtype' is ", dtype,
               ": needs equal dtypes");
    quantization::check(io, axis, block_size);
    io.set_output(0, io.input("x").shape, has_zero ? zero_point_dtype : dtype);
    io.set_input(0, io.output(0).shape);
  }

  void forward(const tenon::Call& call) const {
    const auto x = call.input_type(0), scale = call.input_type(1);
    const quantization::ScaleSegments segments(x.shape, scale.shape, axis, block_size);
    if (x.dtype == tenon::f32 && scale.dtype == tenon::f32 && block_size == 0 &&
        quantization::is_single(scale.shape) && eight_bits.has(call.output_type(0).dtype))
      return quantize_by_one(call);
    const auto to = call.output_type(0).dtype;
    const void *from = quantization::elements(call, 0), *scales = quantization::elements(call, 1);
    const void* zeros = call.has_input(2) ? quantization::elements(call, 2) : nullptr;
    void* const y = quantization::output(call);
    call.parallel_for(x.shape.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
      float quotient[quantization::block], other[quantization::block];
      segments.each(
          begin, end, [&](std::int64_t first, std::int64_t count, std::int64_t at, bool own) {
            quantization::widen<number_types>(x.dtype, from, first, false, count, quotient);
            quantization::widen<float_types>(scale.dtype, scales, at, !own, count, other);
            divide(quotient, other, count, quotient_dtype(scale.dtype));
            std::fill_n(other, count, 0.0f);
            if (zeros) quantization::widen<whole_types>(to, zeros, at, !own, count, other);
            add_zero_point(quotient, other, count, to, y, first);
          });
    });
  }

 protected:
  tenon::DType quotient_dtype(tenon::DType scale) const {
    return precise || scale == tenon::f8e8m0fnu ? tenon::f32 : scale;
  }

 private:
  /// One scale for all elements, float32 to 8 bits.
  static void quantize_by_one(const tenon::Call& call) {
    const auto x = call.input<float>(0);
    tenon::visit<eight_bits>(call.output_type(0).dtype, [&]<class Y>() {
      const float zero = call.has_input(2) ? static_cast<float>(*call.input<Y>(2).data()) : 0;
      const quantization::Quotients quotients(*call.input<float>(1).data(), zero);
      const auto y = call.output<Y>(0);
      call.parallel_for(x.size(), 16384, [&](std::int64_t begin, std::int64_t end) {
        quotients.quantize(x.data() + begin, end - begin, y.data() + begin);
      });
    });
  }

  static void divide(float* x, const float* scale, std::int64_t count, tenon::DType rounded_to) {
    tenon::visit<float_types>(rounded_to, [&]<class T>() {
      tenon::elementwise::for_each(
          count, [=](std::int64_t i) { x[i] = quantization::quotient<T>(x[i], scale[i]); });
    });
  }

  void add_zero_point(const float* x, const float* zero, std::int64_t count, tenon::DType to,
                      void* all, std::int64_t first) const {
    if (tenon::low_bit.has(to)) {
      auto* const y = static_cast<std::uint8_t*>(all) + first;
      const auto& format = tenon::low_bit_format(to);
      for (std::int64_t i = 0; i < count; ++i)
        y[i] = format.encode(
            (format.is_integer() ? tenon::elementwise::rint(x[i]) : x[i]) + zero[i], saturate);
      return;
    }
    tenon::visit<whole_types>(to, [&]<class Y>() {
      Y* const y = static_cast<Y*>(all) + first;
      tenon::elementwise::for_each(
          count, [=](std::int64_t i) { y[i] = quantization::placed<Y>(x[i], zero[i]); });
    });
  }
};
