// quantized_matmul: parameters and inference.
#pragma once
#include "../shared/quantized_call.hpp"
#include "matmul.hpp"

struct QuantizedMatmul : MatmulLayer<WithActivation> {
  std::int64_t b_axis = -1;
  tenon::DType dtype = tenon::DType::u8;

  static constexpr void describe(auto& op) {
    op.doc(
        "(a - a_zero_point) @ (b - b_zero_point) for 8-bit integers, with exact int32 sums. "
        "Without scales the result is these sums, which wrap around; with them it is "
        "activation(sum * (a_scale * b_scale) + bias) in float32, which `result_scale` quantizes. "
        "Batches and vectors are as for matmul. Inference on the CPU only, not differentiable");
    op.input("a", "[..., m, k] or a vector [k]").types(quantized::integers);
    op.input("b", "[..., k, n] or a vector [k]").types(quantized::integers);
    quantized::describe_scales(op, "a_scale", "a_zero_point", "[] or [1]; needs b_scale",
                               "[] or [1], of a's dtype; default: 0");
    quantized::describe_scales(op, "b_scale", "b_zero_point",
                               "[], [1] or one for each column, [n]; needs a_scale",
                               "[], [1] or one for each column, [n], of b's dtype; default: 0");
    quantized::describe_result(op);
    op.output("product", "as for matmul; int32, float32, or the dtype of result_zero_point");
    op.param("transpose_b", &QuantizedMatmul::transpose_b,
             "b has the shape [..., n, k] and is transposed before the product");
    op.param("b_axis", &QuantizedMatmul::b_axis,
             "axis of b along which b_scale and b_zero_point differ if they have several elements; "
             "must be that of the columns: -1, or -2 with transpose_b");
    op.param("dtype", &QuantizedMatmul::dtype,
             "dtype of a quantized product if result_zero_point is absent")
        .one_of(quantized::integers);
    describe_activation(op);
    op.rule("from_matmul",
            "matmul(&dequantize(x, xs!, xz!?; axis=$x_axis), &dequantize(w, ws!, wz!?; "
            "axis=$axis); transpose_b=$t)",
            "quantized_matmul(x, w, a_scale=xs, a_zero_point=xz, b_scale=ws, b_zero_point=wz; "
            "transpose_b=$t, b_axis=$axis)");
    op.exact_rule("bias",
                  "add(" TENON_QUANTIZED_NO_BIAS("quantized_matmul", "a",
                                                 "b") "; activation=\"none\", ...layer), c!)",
                  TENON_QUANTIZED_NO_BIAS("quantized_matmul", "a", "b") ", bias=c; ...layer)");
    TENON_FUSE_QUANTIZED(op, "quantized_matmul", "a", "b");
    op.example({{"a", {3, 5}, tenon::u8}, {"b", {5, 4}, tenon::i8}});
    op.example({{"a", {2, 3, 5}, tenon::u8},
                {"b", {4, 5}, tenon::i8},
                {"a_scale", {1}, tenon::f32},
                {"b_scale", {4}, tenon::f32},
                {"bias", {4}, tenon::f32},
                {"result_scale", {1}, tenon::f32}},
               {{"transpose_b", true}, {"b_axis", -2}, {"activation", "relu"}});
  }

  void infer(tenon::Infer& io) const {
    const quantized::Operand left{"a"}, right{"b"};
    quantized::infer_result(io, left, right, dtype, activation != ActivationKind::none);
    const auto b = io.input("b").shape;
    const auto columns_axis = b.rank() > 1 ? (transpose_b ? b.rank() - 2 : b.rank() - 1) : -1;
    const auto axis = b_axis < 0 ? b_axis + b.rank() : b_axis;
    const auto columns = !b.has_rank() ? tenon::unknown : b.rank() > 1 ? b[columns_axis] : 1;
    quantized::check(io, left, 1, false);
    quantized::check(io, right, columns, !b.has_rank() || (b.rank() > 1 && axis == columns_axis));
    MatmulLayer::infer(io);
    const auto a = io.input("a").shape;
    if (a.has_rank()) quantized::check_depth(io, left, right, a[-1]);
    io.require(!io.has_input("bias") || a.rank() != 1 || b.rank() != 1,
               "the product of two vectors has no dimensions, but a bias has one");
    if (io.has_input("bias") && b.has_rank()) io.set_input("bias", {columns});
  }
};
