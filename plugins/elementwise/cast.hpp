// Conversion between any two dtypes.
#pragma once
#include <tenon/operator.hpp>
#include <tenon/same_sparsity.hpp>

#include "low_bit_cast.hpp"
#include "onnx_dtypes.hpp"
#include "saturate.hpp"

template <class To, class From>
TENON_FN To convert(From value) {
  if constexpr (tenon::is_complex<From> && !tenon::is_complex<To>) {
    return convert<To>(value.re);  // only in backward(), for gradients of real x
  } else if constexpr (tenon::is_complex<From>) {
    return To(value);
  } else if constexpr (tenon::is_complex<To>) {
    return To(convert<decltype(To::re)>(value));
  } else if constexpr (tenon::is_half<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

struct Cast : tenon::Operator {
  static constexpr bool blockwise = true;
  tenon::DType dtype = tenon::DType::f32;
  bool saturate = true;
  tenon::PowerRounding rounding = tenon::PowerRounding::up;

  static constexpr void describe(auto& op) {
    op.doc(
        "x converted to another dtype. Floating values are truncated toward zero and saturated for "
        "integer dtypes; integers wrap around. Complex x cannot be cast to a real dtype: use "
        "real(x) or imag(x)");
    op.types(tenon::storable);
    op.input("x", "any shape, dtype and storage; true counts as 1");
    op.output("y", "same shape and storage as x; for bool, true where x is not 0");
    op.linear("x");
    op.param("dtype", &Cast::dtype, "dtype of y").required().one_of(tenon::storable);
    op.param(
        "saturate", &Cast::saturate,
        "for float8 dtypes: numbers beyond the largest one, and infinities, become the largest "
        "one; false: infinity, or NaN in dtypes without infinities");
    op.param(
          "rounding", &Cast::rounding,
          "for float8_e8m0fnu: rounding to the next larger power of two, the next smaller one, or "
          "the nearest one, ties up; all other dtypes round to nearest, ties to even")
        .one_of({{"up", tenon::PowerRounding::up},
                 {"down", tenon::PowerRounding::down},
                 {"nearest", tenon::PowerRounding::nearest}});
    op.backward_reads();
    op.exact_rule("same_dtype", "cast(x; ...)", "x");  // no rule changes the dtype of a result
    op.example({{"x", {2, 3}, tenon::f32}}, {{"dtype", "float32"}});
    op.example({{"x", {2, 3}}}, {{"dtype", "complex64"}});  // complex results are supported, too
    op.example({{"x", {2, 3}, tenon::f32}}, {{"dtype", "float8_e4m3fn"}, {"saturate", false}});
    describe_onnx(op);
  }

  /// ONNX numbers the dtypes. 4- and 2-bit integers are left to the host, because ONNX wraps around
  /// where y saturates.
  static constexpr void describe_onnx(auto& op) {
    auto form = op.onnx("", "Cast")
                    .since(6)
                    .attribute("to", "dtype")
                    .attribute("saturate", "saturate", 1)
                    .value("saturate", 0, false)
                    .value("saturate", 1, true)
                    .attribute("round_mode", "rounding", "up");
    name_onnx_dtypes(form, tenon::low_bit_floats);
  }

  void infer(tenon::Infer& io) const {
    io.require(!tenon::any_complex.has(io.input(0).dtype) || tenon::any_complex.has(dtype), "x is ",
               io.input(0).dtype, ", which ", dtype,
               " cannot hold; use the operators real, imag or abs to get real numbers");
    io.set_output(0, io.input(0).shape, dtype);
    io.set_input(0, io.output(0).shape);
  }

  /// Explicitly stored elements stay stored even if they become 0. Low-bit results are dense.
  void infer_storage(tenon::InferStorage& io) const {
    if (!tenon::low_bit.has(dtype)) keep_sparsity(io);
  }

  void forward(const tenon::Call& call) const {
    tenon::low_bit.has(dtype) || tenon::low_bit.has(call.input_type(0).dtype)
        ? convert_low_bits(call)
        : convert_on_threads(call);
  }
  void forward_sparse(const tenon::Call& call) const { convert_on_threads(call); }
  void backward(const tenon::Call& call) const { convert_on_threads(call); }
  void backward_sparse(const tenon::Call& call) const { convert_on_threads(call); }

 protected:
  /// Calls put(from, to, count) with pointers of the input's and the output's dtype. `copy` copies
  /// the sparse indices, as in SameSparsity.
  template <class Copy, class Put>
  static void convert_all(const tenon::Call& call, const Copy& copy, const Put& put) {
    if (call.write(0) == tenon::Write::none) return;
    const tenon::SameSparsity tensors(call, copy);
    tenon::visit<tenon::any_type>(tensors.read_dtype(), [&]<class From>() {
      tenon::visit<tenon::any_type>(tensors.written_dtype(), [&]<class To>() {
        put(tensors.read<From>(), tensors.written<To>(), tensors.count());
      });
    });
  }

 private:
  static void convert_block(tenon::DType from, tenon::DType to, const void* in, void* out,
                            std::int64_t count) {
    tenon::visit<tenon::every_type>(from, [&]<class From>() {
      tenon::visit<tenon::every_type>(to, [&]<class To>() {
        const From* const x = static_cast<const From*>(in);
        To* const y = static_cast<To*>(out);
        for (std::int64_t i = 0; i < count; ++i) y[i] = convert<To>(x[i]);
      });
    });
  }

  template <class Convert>
  static void in_chunks(const tenon::Call& call, const tenon::SameSparsity& tensors,
                        const Convert& convert) {
    const auto* const from = tensors.read<std::byte>();
    auto* const to = tensors.written<std::byte>();
    const auto from_size = static_cast<std::int64_t>(size_of(tensors.read_dtype())),
               to_size = static_cast<std::int64_t>(size_of(tensors.written_dtype()));
    call.parallel_for(tensors.count(), 16384, [&](std::int64_t begin, std::int64_t end) {
      convert(from + begin * from_size, to + begin * to_size, end - begin);
    });
  }

  static void convert_on_threads(const tenon::Call& call) {
    if (call.write(0) == tenon::Write::none) return;
    const tenon::SameSparsity tensors(call, tenon::copy_indices);
    in_chunks(call, tensors, [&](const std::byte* from, std::byte* to, std::int64_t count) {
      convert_block(tensors.read_dtype(), tensors.written_dtype(), from, to, count);
    });
  }

  /// Only dense tensors have low-bit dtypes.
  void convert_low_bits(const tenon::Call& call) const {
    const tenon::SameSparsity tensors(call, tenon::copy_indices);
    in_chunks(call, tensors,
              LowBitCast(tensors.read_dtype(), tensors.written_dtype(), saturate, rounding,
                         convert_block));
  }
};
