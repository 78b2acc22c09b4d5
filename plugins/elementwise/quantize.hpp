// Linear quantization to 8- and 16-bit integers by scales and zero points.
#pragma once
#include "quantization.hpp"

struct Quantize : tenon::Operator {
  static constexpr tenon::Types quantized_types = {tenon::u8, tenon::i8, tenon::u16, tenon::i16};
  static constexpr tenon::Types eight_bits = {tenon::u8, tenon::i8};
  static constexpr tenon::Types scale_types = {tenon::f32, tenon::f16, tenon::bf16},
                                number_types = scale_types + tenon::Types{tenon::i32};
  std::int64_t axis = 1, block_size = 0;
  tenon::DType dtype = tenon::DType::u8;
  bool precise = false;

  static constexpr void describe(auto& op) {
    op.doc("x / scale rounded half to even, plus zero_point, saturated to the range of y's dtype");
    op.input("x", "any shape").types(number_types);
    op.input("scale",
             "[] or [1] (per tensor), [size of x along `axis`] (per axis), or x's shape with "
             "ceil(size / block_size) along `axis` (blocked)")
        .types(scale_types);
    op.input("zero_point",
             "quantized value that represents 0, of y's dtype; same shape as scale; default: 0")
        .optional()
        .types(quantized_types);
    op.output("y", "same shape as x; NaN becomes 0");
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
             "divide in float32; false: round the quotient to scale's dtype before it is rounded "
             "to an integer");
    op.example(
        {{"x", {2, 3}, tenon::f32}, {"scale", {3}, tenon::f32}, {"zero_point", {3}, tenon::u8}});
    op.example({{"x", {2, 5}, tenon::f32}, {"scale", {2, 3}, tenon::f32}},
               {{"block_size", 2}, {"dtype", "int8"}});
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
        .attribute("precision", "precise", 0)
        .value("precise", 0, false)
        .value("precise", 1, true)
        .ignore("saturate");
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
    tenon::visit<quantized_types>(call.output_type(0).dtype, [&]<class Y>() {
      Y* const y = call.output<Y>(0).data();
      const void *from = quantization::elements(call, 0), *scales = quantization::elements(call, 1);
      const void* zeros = call.has_input(2) ? quantization::elements(call, 2) : nullptr;
      call.parallel_for(x.shape.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
        float quotient[quantization::block], other[quantization::block];
        segments.each(
            begin, end, [&](std::int64_t first, std::int64_t count, std::int64_t at, bool own) {
              quantization::widen<number_types>(x.dtype, from, first, false, count, quotient);
              quantization::widen<scale_types>(scale.dtype, scales, at, !own, count, other);
              divide(quotient, other, count, precise ? tenon::f32 : scale.dtype);
              std::fill_n(other, count, 0.0f);
              if (zeros) quantization::widen<Y>(zeros, at, !own, count, other);
              add_zero_point(quotient, other, count, y + first);
            });
      });
    });
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
    tenon::visit<scale_types>(rounded_to, [&]<class T>() {
      tenon::elementwise::for_each(
          count, [=](std::int64_t i) { x[i] = quantization::quotient<T>(x[i], scale[i]); });
    });
  }

  template <class Y>
  static void add_zero_point(const float* x, const float* zero, std::int64_t count, Y* y) {
    tenon::elementwise::for_each(
        count, [=](std::int64_t i) { y[i] = quantization::placed<Y>(x[i], zero[i]); });
  }
};
