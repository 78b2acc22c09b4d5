// Conversions between dtypes. Tenon saturates to the target's range; the result of ONNX's Cast is
// undefined out of range.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tenon/elementwise/convert.hpp>
#include <tenon/visit.hpp>

#include "onnx/export/element_types.hpp"
#include "onnx/export/node_export.hpp"

namespace tenon::onnx {
namespace {

constexpr Types small_integers = Types{u8, i8, u16, i16} + low_bit_integers;
constexpr double two_63 = 0x1p63, two_64 = 0x1p64;

/// The range of an integer dtype in float64: smallest and largest value, and the smallest number
/// above the range.
struct Range {
  double lowest, highest, end;
};

Range range_of(DType dtype) {
  if (dtype == i64) return {-two_63, std::nextafter(two_63, 0.0), two_63};
  if (dtype == u64) return {0, std::nextafter(two_64, 0.0), two_64};
  Range range{};
  if (low_bit_integers.has(dtype)) {
    const auto& format = low_bit_format(dtype);
    range.highest = format.max;
    range.lowest = format.is_signed ? -range.highest - 1 : 0;
    range.end = range.highest + 1;
    return range;
  }
  visit<every_type>(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      range.lowest = static_cast<double>(std::numeric_limits<T>::min());
      range.highest = static_cast<double>(std::numeric_limits<T>::max());
    }
  });
  range.end = range.highest + 1;
  return range;
}

/// Converts floating-point `from` to integer `to` as the node's output: truncates, saturates, and
/// maps nan to 0.
void output_integers(NodeExport& node, std::string x, DType from, DType to) {
  const auto wide = from == f64 || !small_integers.has(to) ? f64 : f32;
  if (from != wide) x = node.cast(x, wide);
  const auto range = range_of(to);
  const auto limit = [&](double number) {
    return node.constant(wide == f64 ? Tensor::from({number}, Shape::scalar())
                                     : Tensor::from({static_cast<float>(number)}, Shape::scalar()));
  };
  x = node.add("Where", {node.add("IsNaN", {x}), limit(0), x});
  auto limited = node.add("Clip", {x, limit(range.lowest), limit(range.highest)});
  if (low_bit_integers.has(to)) limited = node.cast(limited, i32);  // some runtimes round to 4 bits
  const NodeExport::Attributes as_to{{"to", std::int64_t{written::number_of(to)}}};
  if (to != i64 && to != u64) return node.output("Cast", {limited}, as_to);
  // The largest 64-bit integer is not a float64. For uint64 it is all ones, made from int64 -1,
  // because few runtimes support Where on uint64.
  const auto beyond = node.add("GreaterOrEqual", {x, limit(range.end)});
  if (to == i64)
    return node.output("Where",
                       {beyond, node.integer_constant(INT64_MAX), node.cast(limited, i64)});
  const auto bits = node.cast(node.cast(limited, u64), i64);
  node.output("Cast", {node.add("Where", {beyond, node.integer_constant(-1), bits})}, as_to);
}

bool cast(NodeExport& node) {
  const auto from = node.dtype(), to = node.output_dtype();
  if (floating.has(from) && (any_integer + low_bit_integers).has(to)) {
    output_integers(node, node.input(0), from, to);
    return true;
  }
  if (!low_bit_integers.has(to)) return false;
  const auto x = low_bit_floats.has(from) ? node.cast(node.input(0), f32) : node.input(0);
  if (low_bit_floats.has(from))
    output_integers(node, x, f32, to);
  else
    node.output("Cast", {x}, {{"to", std::int64_t{written::number_of(to)}}});
  return true;
}

// An omitted bound is the largest finite number in ONNX.
bool clip(NodeExport& node) {
  const auto bound = [&](double value) {
    auto made = Tensor::empty(node.dtype(), Shape::scalar());
    visit<any_real>(node.dtype(), [&]<class T>() {
      auto& element = *static_cast<T*>(made.data());
      if constexpr (std::is_integral_v<T>)
        element = elementwise::number_as<T>(value);
      else
        element = static_cast<T>(value);
    });
    return node.constant(made);
  };
  node.output("Clip", {node.input(0), bound(node.real("low")), bound(node.real("high"))});
  return true;
}

/// Common code of quantize and dequantize: scales and zero points that broadcast over x.
class Scaled {
 public:
  explicit Scaled(NodeExport& at) : node_(at) {}

  /// Supports one scale for all elements or one per index along the axis. Block quantization needs
  /// ONNX's own operator.
  bool fits() const {
    const auto& scale = node_.type(1);
    return node_.integer("block_size") == 0 && scale.rank >= 0 &&
           (scale.rank == 0 || scale.dims[0] == 1 || node_.rank() > 0);
  }
  /// Scale or zero point converted to `dtype`.
  std::string broadcast(std::size_t i, DType dtype) const {
    auto x = node_.dtype(i) == dtype ? node_.input(i) : node_.cast(node_.input(i), dtype);
    const auto axis =
        node_.integer("axis") < 0 ? node_.integer("axis") + node_.rank() : node_.integer("axis");
    const auto num_trailing = node_.rank() - 1 - axis;
    if (node_.type(i).rank == 0 || node_.type(i).dims[0] == 1 || num_trailing <= 0) return x;
    std::vector<std::int64_t> shape(static_cast<std::size_t>(num_trailing) + 1, 1);
    shape[0] = -1;
    return node_.reshaped(x, shape);
  }
  std::string as(std::size_t i, DType dtype) const {
    return node_.dtype(i) == dtype ? node_.input(i) : node_.cast(node_.input(i), dtype);
  }
  bool has_zero() const { return !node_.input(2).empty(); }

 private:
  NodeExport& node_;
};

bool quantize(NodeExport& node) {
  const Scaled scaled(node);
  const auto x_dtype = node.dtype(0), scale_dtype = node.dtype(1), to = node.output_dtype();
  const bool precise = node.flag("precise") && scale_dtype != f32;
  const bool says_dtype = !scaled.has_zero() && to != u8;
  const bool direct = accepts_scales(node.opset(), x_dtype, to, scale_dtype) &&
                      (!precise || node.opset() >= 23) && (!says_dtype || node.opset() >= 21);
  if (direct || !scaled.fits() || low_bit_floats.has(to)) return false;
  auto quotient = node.add("Div", {scaled.as(0, f32), scaled.broadcast(1, f32)});
  if (!precise && scale_dtype != f32) quotient = node.cast(node.cast(quotient, scale_dtype), f32);
  auto sum = node.add("Round", {quotient});
  if (scaled.has_zero()) sum = node.add("Add", {sum, scaled.broadcast(2, f32)});
  output_integers(node, sum, f32, to);
  return true;
}

bool dequantize(NodeExport& node) {
  const Scaled scaled(node);
  const auto x_dtype = node.dtype(0), scale_dtype = node.dtype(1), to = node.output_dtype();
  if ((accepts_scales(node.opset(), unknown_dtype, x_dtype, scale_dtype) &&
       (to == scale_dtype || node.opset() >= 23)) ||
      !scaled.fits())
    return false;
  const auto wide = x_dtype == i32 ? f64 : f32;  // wide enough for every difference
  auto number = scaled.as(0, wide);
  if (scaled.has_zero()) number = node.add("Sub", {number, scaled.broadcast(2, wide)});
  if (wide != f32) number = node.cast(number, f32);
  number = node.add("Mul", {number, scaled.broadcast(1, f32)});
  node.output("Cast", {number}, {{"to", std::int64_t{written::number_of(to)}}});
  return true;
}

const Decomposition conversions[] = {{"tenon.cast", cast},
                                     {"tenon.clip", clip},
                                     {"tenon.quantize", quantize},
                                     {"tenon.dequantize", dequantize}};

}  // namespace
}  // namespace tenon::onnx
