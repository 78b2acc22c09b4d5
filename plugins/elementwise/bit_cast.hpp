// Reinterprets the bits of elements as another dtype.
#pragma once
#include <cstring>
#include <tenon/operator.hpp>

#include "onnx_dtypes.hpp"

struct BitCast : tenon::Operator {
  static constexpr bool blockwise = true;
  static constexpr tenon::Types eights = {tenon::f8e4m3fn, tenon::f8e4m3fnuz, tenon::f8e5m2,
                                          tenon::f8e5m2fnuz, tenon::f8e8m0fnu},
                                whole_bytes = tenon::every_type + eights;
  tenon::DType dtype = tenon::DType::f32;

  static constexpr void describe(auto& op) {
    op.doc("bits of x reinterpreted as another dtype of the same size, like torch's x.view(dtype)");
    op.types(whole_bytes);
    op.input("x", "any shape and dtype");
    op.output("y", "same shape as x; for bool, true where any bit of x is set");
    op.param("dtype", &BitCast::dtype, "dtype of y, of the same size as x's")
        .required()
        .one_of(whole_bytes);
    op.backward_reads();
    op.example({{"x", {2, 3}, tenon::f32}}, {{"dtype", "int32"}});
    op.example({{"x", {2, 3}, tenon::i8}}, {{"dtype", "uint8"}});
    op.example({{"x", {2, 3}, tenon::u16}}, {{"dtype", "float16"}});
    op.example({{"x", {2, 3}, tenon::u64}}, {{"dtype", "float64"}});
    op.example({{"x", {2, 3}, tenon::f8e5m2}}, {{"dtype", "uint8"}});
    op.example({{"x", {2, 3}, tenon::c128}}, {{"dtype", "complex128"}});
    auto form = op.onnx("", "BitCast").since(26).attribute("to", "dtype");
    name_onnx_dtypes(form, eights);
  }

  void infer(tenon::Infer& io) const {
    const auto from = io.input(0).dtype;
    io.require(from == tenon::unknown_dtype || bits_of(from) == bits_of(dtype), "x is ", from, " (",
               bits_of(from), " bits per element), but ", dtype, " has ", bits_of(dtype),
               " bits: needs dtypes of equal size");
    io.set_output(0, io.input(0).shape, dtype);
    io.set_input(0, io.output(0).shape);
  }

  void forward(const tenon::Call& call) const {
    const auto [x, y, bytes] = memory(call);
    call.parallel_for(bytes, 65536, [&, x = x, y = y](std::int64_t begin, std::int64_t end) {
      if (dtype == tenon::boolean) {
        for (auto i = begin; i < end; ++i) y[i] = x[i] != 0;
      } else {
        std::memcpy(y + begin, x + begin, static_cast<std::size_t>(end - begin));
      }
    });
  }

 protected:
  struct Memory {
    const unsigned char* x;
    unsigned char* y;
    std::int64_t bytes;
  };
  Memory memory(const tenon::Call& call) const {
    const auto& from = call.raw().inputs[0]->dense;
    const auto& to = call.raw().outputs[0]->dense;
    return {static_cast<const unsigned char*>(from.data) + from.byte_offset,
            static_cast<unsigned char*>(to.data) + to.byte_offset,
            call.input_type(0).shape.size() * static_cast<std::int64_t>(size_of(dtype))};
  }
};
