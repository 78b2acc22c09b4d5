// Scales and zero points of quantized_matmul and quantized_convolution, in describe(), infer() and
// calls. The operators have the inputs a or data, and b or weight, with scales and zero points.
#pragma once
#include <string>
#include <tenon/operator.hpp>
#include <tenon/visit.hpp>
#include <vector>

#include "sum_results.hpp"

namespace quantized {

inline constexpr tenon::Types integers = {tenon::u8, tenon::i8};

inline const std::byte* elements(const tenon::Call& call, const std::string& name) {
  const std::byte* data = nullptr;
  tenon::visit<integers>(call.input_type(name).dtype, [&]<class T>() {
    data = reinterpret_cast<const std::byte*>(call.input<T>(name).data());
  });
  return data;
}

/// Empty if the input is not connected.
inline std::vector<int> zero_points(const tenon::Call& call, const std::string& name) {
  std::vector<int> zeros;
  if (!call.has_input(name)) return zeros;
  tenon::visit<integers>(call.input_type(name).dtype, [&]<class T>() {
    const auto all = call.input<T>(name);
    for (std::int64_t i = 0; i < all.size(); ++i) zeros.push_back(all.data()[i]);
  });
  return zeros;
}
inline std::vector<float> scales(const tenon::Call& call, const std::string& name) {
  std::vector<float> all;
  if (!call.has_input(name)) return all;
  const auto values = call.input<float>(name);
  all.assign(values.data(), values.data() + values.size());
  return all;
}

inline bool is_single(const tenon::Shape& shape) {
  return shape.rank() == 0 || (shape.rank() == 1 && shape[0] == 1);
}

/// An operand, its scale and its zero point. `columns`: of the right side, whose scale may differ
/// from column to column along `axis`.
struct Operand {
  std::string name, scale = name + "_scale", zero_point = name + "_zero_point";
};

inline constexpr const char *result_scale = "result_scale",
                            *result_zero_point = "result_zero_point";

/// Requires a single scale and zero point, or one for each column if `by_column`.
inline void check(tenon::Infer& io, const Operand& operand, std::int64_t columns, bool by_column) {
  for (const auto& name : {operand.scale, operand.zero_point}) {
    if (!io.has_input(name)) continue;
    const auto shape = io.input(name).shape;
    if (!shape.has_rank() || is_single(shape) || shape == tenon::Shape{tenon::unknown}) continue;
    io.require(by_column && shape.rank() == 1, name, " is ", shape, " but needs one element",
               by_column ? ", or one for each column" : "");
    io.require(columns == tenon::unknown || shape[0] == columns, name, " is ", shape, " but ",
               operand.name, " has ", columns, " columns");
  }
  if (!io.has_input(operand.zero_point)) return;
  io.set_input(operand.zero_point, {}, io.input(operand.name).dtype);
  io.set_input(operand.name, {}, io.input(operand.zero_point).dtype);
}

/// Largest absolute value of an element minus its zero point.
inline std::int64_t max_difference(const tenon::Infer& io, const Operand& operand) {
  const bool symmetric =
      io.input(operand.name).dtype == tenon::i8 && !io.has_input(operand.zero_point);
  return symmetric ? 128 : 255;
}

/// Sets the dtype of the result. `dtype`: of a quantized result without a zero point.
inline void infer_result(tenon::Infer& io, const Operand& left, const Operand& right,
                         tenon::DType dtype, bool activates) {
  const bool scaled = io.has_input(left.scale), quantizes = io.has_input(result_scale);
  io.require(scaled == io.has_input(right.scale), "needs both ", left.scale, " and ", right.scale,
             ", or neither of them");
  io.require(scaled || (!quantizes && !io.has_input("bias") && !activates),
             "has a bias, an activation or a ", result_scale, ", which need ", left.scale, " and ",
             right.scale);
  const bool has_zero = io.has_input(result_zero_point);
  io.require(quantizes || !has_zero, "has a ", result_zero_point, " without a ", result_scale);
  for (const auto* name : {result_scale, result_zero_point})
    if (io.has_input(name)) {
      const auto shape = io.input(name).shape;
      io.require(!shape.has_rank() || is_single(shape) || shape == tenon::Shape{tenon::unknown},
                 name, " is ", shape, " but needs one element");
    }
  const auto quantized = has_zero ? io.input(result_zero_point).dtype : dtype;
  io.set_output(0, {}, !scaled ? tenon::i32 : quantizes ? quantized : tenon::f32);
}

/// Requires that a sum of `depth` products fits into int32 if it is converted to float32.
inline void check_depth(const tenon::Infer& io, const Operand& left, const Operand& right,
                        std::int64_t depth) {
  if (depth == tenon::unknown || !io.has_input(left.scale)) return;
  const auto limit =
      std::int64_t{0x7fffffff} / (max_difference(io, left) * max_difference(io, right));
  io.require(depth <= limit, "a sum has ", depth, " products, but only ", limit,
             " are certain to fit into int32");
}

constexpr void describe_scales(auto& op, const char* scale, const char* zero_point,
                               const char* scale_doc, const char* zero_point_doc) {
  op.input(scale, scale_doc).optional().types({tenon::f32});
  op.input(zero_point, zero_point_doc).optional().types(integers);
}

constexpr void describe_result(auto& op) {
  op.input("bias", "one float32 number for each column or filter, added after the scales")
      .optional()
      .types({tenon::f32});
  describe_scales(op, result_scale, result_zero_point,
                  "[] or [1]; quantizes the result, as `quantize` does",
                  "quantized value that represents 0, of the result's dtype; default: 0");
}

/// Calls body(to, write) with the output's elements of its dtype and the function that writes rows
/// of sums there: write(tile, sums, to, distance between rows).
template <class Layer, class Body>
void with_result(const tenon::Call& call, const Layer& layer, const Operand& left,
                 const Operand& right, std::int64_t columns, const Body& body) {
  using product::Tile;
  using Sum = SumResults::Sum;
  const auto scale = scales(call, left.scale);
  const float* const bias = call.has_input("bias") ? call.input<float>("bias").data() : nullptr;
  const SumResults results(columns, scale.empty() ? 1 : scale[0], scales(call, right.scale), bias);
  const auto dtype = call.output_type(0).dtype;
  if (dtype == tenon::i32)
    return body(call.output<Sum>(0).data(),
                [&](const Tile& tile, const Sum* sums, Sum* to, std::int64_t step) {
                  results.write(tile, sums, to, step);
                });
  if (dtype == tenon::f32)
    return body(call.output<float>(0).data(),
                [&](const Tile& tile, const Sum* sums, float* to, std::int64_t step) {
                  results.write(layer, tile, sums, to, step);
                });
  const auto zero = zero_points(call, result_zero_point);
  const quantization::Quotients quotients(scales(call, result_scale)[0],
                                          zero.empty() ? 0.0F : static_cast<float>(zero[0]));
  tenon::visit<integers>(dtype, [&]<class Y>() {
    body(call.output<Y>(0).data(),
         [&](const Tile& tile, const Sum* sums, Y* to, std::int64_t step) {
           results.write(layer, quotients, tile, sums, to, step);
         });
  });
}

}  // namespace quantized

// The rules that fuse an operator with what follows it. `x` and `w` are the names of its operands.
#define TENON_QUANTIZED_NO_BIAS(op, x, w) \
  op "(x, w, " x "_scale=xs, " x "_zero_point=xz?, " w "_scale=ws, " w "_zero_point=wz?"
#define TENON_QUANTIZED(op, x, w) TENON_QUANTIZED_NO_BIAS(op, x, w) ", bias=b?"
#define TENON_FUSE_QUANTIZED(op, name, x, w)                                                      \
  op.exact_rule("relu", "relu(" TENON_QUANTIZED(name, x, w) "; activation=\"none\", ...layer))",  \
                TENON_QUANTIZED(name, x, w) "; activation=\"relu\", ...layer)");                  \
  op.exact_rule("clip",                                                                         \
                "clip(" TENON_QUANTIZED(name, x, w) "; activation=\"none\", ...layer); low=$low, " \
                "high=$high)",                                                                  \
                TENON_QUANTIZED(name, x, w)                                                     \
                "; activation=\"clip\", low=$low, high=$high, ...layer)"); \
  op.exact_rule(                                                                                  \
      "quantize",                                                                                 \
      "quantize(" TENON_QUANTIZED(name, x, w) "; ...layer), ys!, yz!?; dtype=$dtype, ...)",       \
      TENON_QUANTIZED(name, x,                                                                    \
                      w) ", result_scale=ys, result_zero_point=yz; dtype=$dtype, ...layer)")
