// Element types that ONNX operators accept for their data input: the second input of Where, the
// third of OneHot, the first of all others.
#include "onnx/export/element_types.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tenon::onnx {
namespace {

constexpr Types floats = {f16, bf16, f32, f64};
constexpr Types old_floats = {f16, f32, f64};
constexpr Types all = {boolean, u8,  i8,  i32, i64, f16, bf16, f32,
                       f64,     i16, u16, u32, u64, c64, c128};
constexpr Types numbers = {u8, i8, i32, i64, f16, bf16, f32, f64, i16, u16, u32, u64};
constexpr Types wide_numbers = {i32, i64, f16, bf16, f32, f64, u32, u64};
constexpr Types old_all = {boolean, u8, i8, i32, i64, f16, f32, f64, i16, u16, u32, u64, c64, c128};
constexpr Types old_numbers = {u8, i8, i32, i64, f16, f32, f64, i16, u16, u32, u64};
constexpr Types integers = {u8, i8, i32, i64, i16, u16, u32, u64};

/// `names`: operator names, each with a space on both sides. Operators without a row accept every
/// type.
struct Row {
  Types types;
  std::int64_t since;
  std::string_view names;
};
constexpr Row rows[] = {
    {floats, 13,
     " Ceil Dropout Erf Exp Floor IsNaN Log LogSoftmax Reciprocal Relu Sigmoid Softmax "
     "SoftmaxCrossEntropyLoss Sqrt Tanh "},
    {floats, 14, " BatchNormalization "},
    {floats, 16, " LeakyRelu "},
    {floats, 17, " DFT LayerNormalization "},
    {floats, 18, " GroupNormalization "},
    {floats, 20, " Gelu IsInf "},
    {floats, 22,
     " Acos Acosh Asin Asinh Atan Atanh AveragePool Conv ConvTranspose Cos Cosh DeformConv Det Elu "
     "GRU GlobalAveragePool GlobalMaxPool "
     "HardSigmoid HardSwish InstanceNormalization LSTM MaxUnpool Mish RNN RoiAlign Round Selu Sin "
     "Sinh Softplus Softsign Tan "
     "ThresholdedRelu "},
    {floats, 23, " Attention RMSNormalization "},
    {floats, 24, " Swish "},
    {old_floats, 1, " GlobalAveragePool GlobalMaxPool Softplus Softsign "},
    {old_floats, 6, " Elu HardSigmoid InstanceNormalization LeakyRelu Selu "},
    {old_floats, 7, " Acos Asin Atan Cos GRU LSTM RNN Sin Tan "},
    {old_floats, 9, " Acosh Asinh Atanh BatchNormalization Cosh Sinh "},
    {old_floats, 10, " RoiAlign ThresholdedRelu "},
    {old_floats, 11, " AveragePool Conv ConvTranspose Det MaxUnpool Round "},
    {old_floats, 14, " HardSwish "},
    {old_floats, 18, " Mish "},
    {old_floats, 19, " DeformConv "},
    {all, 13,
     " Concat DepthToSpace Expand Flatten Gather GatherElements GatherND Identity NonZero Pad "
     "Reshape Resize ScatterElements ScatterND "
     "Shape Slice SpaceToDepth Split Squeeze Tile Transpose Unsqueeze "},
    {all, 14, " Trilu "},
    {all, 16, " Where "},
    {all, 18, " Col2Im "},
    {all, 22, " GridSample "},
    {numbers, 13, " Abs ArgMax ArgMin Clip Greater Less Max Min Mod Sign "},
    {numbers, 14, " Add Div Mul Sub "},
    {numbers, 16, " GreaterOrEqual LessOrEqual "},
    {numbers, 24, " TopK "},
    {wide_numbers, 13, " Add Div Gemm MatMul Mul ReduceMean ReduceProd ReduceSum Sub "},
    {wide_numbers, 14, " CumSum "},
    {wide_numbers, 16, " PRelu "},
    {old_all, 9, " Where "},
    {old_all, 10, " ReverseSequence "},
    {old_all, 11, " Compress OneHot Unique "},
    {old_all, 16, " GridSample "},
    {old_numbers, 9, " Shrink "},
    {old_numbers, 11, " TopK "},
    {old_numbers, 12, " GreaterOrEqual LessOrEqual "},
    {{boolean}, 1, " Not "},
    {{boolean}, 7, " And Or Xor "},
    {integers, 18, " BitwiseAnd BitwiseNot BitwiseOr BitwiseXor "},
    {{boolean, u8, i8, i32, i64, f16, bf16, f32, f64, i16, u16, u32, u64}, 13, " Cast Equal "},
    {{boolean, u8, i8, i32, i64, f16, bf16, f32, f64, u32, u64}, 20, " ReduceMax ReduceMin "},
    {{f32}, 11, " NonMaxSuppression "},
    {{f32}, 12, " Celu "},
    {{i8, i32, i64, f16, bf16, f32, f64, i16}, 13, " Neg "},
    {{i8, i32, i64, f16, bf16, f32, f64, i16}, 14, " Relu "},
    {{u8, i8, i32, i64, f16, bf16, f32, f64, u32, u64}, 13, " ReduceMax ReduceMin "},
    {{f32, f64}, 10, " IsInf "},
    {{f16, bf16, f32}, 23, " RotaryEmbedding "},
    {{i32, f32}, 13, " QuantizeLinear "},
    {{i32, f16, bf16, f32}, 19, " QuantizeLinear "},
    {{i32, i64, f32, f64, i16}, 11, " Range "},
    {{i32, i64, f32, f64, u32, u64}, 11, " CumSum "},
    {{i32, i64, f16, bf16, f32, f64}, 15, " Pow "},
    {{i32, i64, f16, f32, f64}, 13, " Pow "},
    {{i32, i64, f16, f32, f64, u32, u64}, 9, " PRelu "},
    {{u8, i8, f16, bf16, f32, f64}, 22, " MaxPool "},
    {{u8, i8, f16, f32, f64}, 12, " MaxPool "},
    {{u8, i8, i32}, 13, " DequantizeLinear "},
    {{u8, i8, i32, i16, u16}, 21, " DequantizeLinear "},
    {{u8, u16, u32, u64}, 11, " BitShift "},
};

/// Operators that accept low-bit dtypes since an opset, if it has the dtype.
constexpr std::pair<std::int64_t, std::string_view> of_low_bits[] = {
    {19, " Cast DequantizeLinear Identity Reshape Shape Size "},
    {21, " Flatten Pad Squeeze Transpose Unsqueeze "},
};

bool accepts_low_bit(const std::string& name, std::int64_t opset, DType dtype) {
  const auto has = [&](const auto& row) {
    return row.first <= opset && row.second.find(name) != std::string_view::npos;
  };
  return first_opset(dtype) <= opset &&
         std::any_of(std::begin(of_low_bits), std::end(of_low_bits), has);
}

}  // namespace

std::int64_t first_opset(DType dtype) {
  if (!low_bit.has(dtype)) return 1;
  if (bits_of(dtype) == 2) return 25;
  if (bits_of(dtype) == 4) return dtype == f4e2m1fn ? 23 : 21;
  return dtype == f8e8m0fnu ? 24 : 19;
}

bool accepts_dtype(std::string_view type, std::int64_t opset, DType dtype) {
  const std::string name = ' ' + std::string(type) + ' ';
  if (low_bit.has(dtype)) return accepts_low_bit(name, opset, dtype);
  const Row* latest = nullptr;
  for (const auto& row : rows)
    if (row.since <= opset && row.names.find(name) != std::string_view::npos &&
        (latest == nullptr || row.since > latest->since))
      latest = &row;
  return latest == nullptr || allows(latest->types.mask, dtype);
}

// 16-bit integers since opset 21, half-precision scales since 19, scales with a dtype other than
// the data's since 23.
bool accepts_scales(std::int64_t opset, DType numbers, DType integers, DType scales) {
  if ((integers == u16 || integers == i16) && opset < 21) return false;
  if (opset < first_opset(integers) || opset < first_opset(scales)) return false;
  if (opset < 19)
    return scales == f32 && (numbers == unknown_dtype || numbers == f32 || numbers == i32);
  return opset >= 23 || numbers == unknown_dtype || numbers == scales;
}

bool supports_random(std::int64_t opset, DType dtype) {
  return dtype != bf16 || opset >= 22;
}

}  // namespace tenon::onnx
