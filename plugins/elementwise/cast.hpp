// Conversion between any two dtypes.
#pragma once
#include <tenon/operator.hpp>
#include <tenon/same_sparsity.hpp>

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

  static constexpr void describe(auto& op) {
    op.doc(
        "x converted to another dtype. Floating values are truncated toward zero and saturated for "
        "integer dtypes; integers wrap around. Complex x cannot be cast to a real dtype: use "
        "real(x) or imag(x)");
    op.types(tenon::every_type);
    op.input("x", "any shape, dtype and storage; true counts as 1");
    op.output("y", "same shape and storage as x; for bool, true where x is not 0");
    op.linear("x");
    op.param("dtype", &Cast::dtype, "dtype of y").required().one_of(tenon::every_type);
    op.backward_reads();
    op.exact_rule("same_dtype", "cast(x; ...)", "x");  // no rule changes the dtype of a result
    op.example({{"x", {2, 3}, tenon::f32}}, {{"dtype", "float32"}});
    op.example({{"x", {2, 3}}}, {{"dtype", "complex64"}});  // complex results are supported, too
    describe_onnx(op);
  }

  /// ONNX numbers the dtypes. saturate and round_mode apply only to 8-bit floats, which Tenon
  /// lacks.
  static constexpr void describe_onnx(auto& op) {
    auto form = op.onnx("", "Cast")
                    .since(6)
                    .attribute("to", "dtype")
                    .ignore("saturate")
                    .ignore("round_mode");
    name_onnx_dtypes(form);
  }

  void infer(tenon::Infer& io) const {
    io.require(!tenon::any_complex.has(io.input(0).dtype) || tenon::any_complex.has(dtype), "x is ",
               io.input(0).dtype, ", which ", dtype,
               " cannot hold; use the operators real, imag or abs to get real numbers");
    io.set_output(0, io.input(0).shape, dtype);
    io.set_input(0, io.output(0).shape);
  }

  /// Explicitly stored elements stay stored even if they become 0.
  void infer_storage(tenon::InferStorage& io) const { keep_sparsity(io); }

  void forward(const tenon::Call& call) const { convert_on_threads(call); }
  void forward_sparse(const tenon::Call& call) const { convert_on_threads(call); }
  void backward(const tenon::Call& call) const { convert_on_threads(call); }
  void backward_sparse(const tenon::Call& call) const { convert_on_threads(call); }

 protected:
  /// Calls put(from, to, count) with pointers of the input's and the output's dtype. `copy` copies
  /// the sparse indices, as in SameSparsity.
  template <tenon::Types types = tenon::any_type, class Copy, class Put>
  static void convert_all(const tenon::Call& call, const Copy& copy, const Put& put) {
    if (call.write(0) == tenon::Write::none) return;
    const tenon::SameSparsity tensors(call, copy);
    tenon::visit<types>(tensors.read_dtype(), [&]<class From>() {
      tenon::visit<types>(tensors.written_dtype(), [&]<class To>() {
        put(tensors.read<From>(), tensors.written<To>(), tensors.count());
      });
    });
  }

 private:
  static void convert_on_threads(const tenon::Call& call) {
    convert_all<tenon::every_type>(
        call, tenon::copy_indices,
        [&]<class From, class To>(const From* from, To* to, std::int64_t count) {
          call.parallel_for(count, 16384, [&](std::int64_t begin, std::int64_t end) {
            for (auto i = begin; i < end; ++i) to[i] = convert<To>(from[i]);
          });
        });
  }
};
