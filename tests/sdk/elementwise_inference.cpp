// The declarations of elementwise operators: shapes and dtypes of outputs, the description in the
// manifest, sparse storage.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "call_by_hand.hpp"
#include "elementwise_operators.hpp"

using namespace by_hand;
using tenon::DType;

namespace {

constexpr std::int64_t any = tenon::unknown;

tenon_type type_of(const tenon::Shape& shape, DType dtype) {
  tenon_type type{};
  type.rank = shape.rank();
  type.dtype = static_cast<std::uint8_t>(dtype);
  type.present = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) type.dims[axis] = shape[axis];
  return type;
}

/// The result of infer() for an operator's inputs and output, as text: "float32 [2, 3]", or the
/// text of an error.
std::string inferred(const tenon_operator* table, std::vector<tenon::TensorType> inputs,
                     tenon::TensorType output = {}, int shown = -1) {
  Instance instance(table);
  std::vector<tenon_type> in;
  for (const auto& input : inputs) in.push_back(type_of(input.shape, input.dtype));
  tenon_type out = type_of(output.shape, output.dtype);
  ErrorText error;
  tenon_infer io{};
  io.size = sizeof io;
  io.error = &error.raw;
  io.input_count = static_cast<std::uint32_t>(in.size());
  io.output_count = 1;
  io.inputs = in.data();
  io.outputs = &out;
  if (table->infer(instance.object(), &io)) return error.text;
  const tenon_type& type = shown < 0 ? out : in[static_cast<std::size_t>(shown)];
  return tenon::join(static_cast<DType>(type.dtype), " ",
                     type.rank < 0 ? tenon::Shape() : tenon::Shape(type.dims, type.rank));
}

std::string list(const auto& names) {
  std::string text;
  for (const char* name : names) text += text.empty() ? name : std::string(" ") + name;
  return text;
}
std::string pairs(const auto& pairs) {
  std::string text;
  for (const auto& pair : pairs)
    text += std::string(text.empty() ? "" : " ") + pair.first + ">" + pair.second;
  return text;
}

template <class Class>
constexpr const tenon::detail::Description& description =
    tenon::detail::description_of<tenon::Completed<Class>>;

}  // namespace

TEST_CASE("the output has the shape that the inputs broadcast to") {
  const struct {
    tenon::Shape left, right;
    const char* result;
  } cases[] = {
      {{3, 4}, {4}, "float32 [3, 4]"},
      {{3, 1}, {1, 4}, "float32 [3, 4]"},
      {tenon::Shape::scalar(), {5}, "float32 [5]"},
      {tenon::Shape::scalar(), tenon::Shape::scalar(), "float32 []"},
      {{1}, {0}, "float32 [0]"},
      {{any, 64}, {64}, "float32 [?, 64]"},
      {{any}, {5}, "float32 [5]"},
      {{any}, {1}, "float32 [?]"},
      {{any}, {any}, "float32 [?]"},
      {{any, 3}, {0, 1}, "float32 [0, 3]"},
      {{2, any, 4}, {any, 1}, "float32 [2, ?, 4]"},
      {{}, {4}, "float32 [...]"},
      {{3, 4},
       {3},
       "left is [3, 4], right is [3]: sizes 4 and 3 at axis -1 differ and neither is 1"},
      {{2, any},
       {3, 1},
       "left is [2, ?], right is [3, 1]: sizes 2 and 3 at axis -2 differ and neither is 1"},
      {{0}, {2}, "left is [0], right is [2]: sizes 0 and 2 at axis -1 differ and neither is 1"}};
  for (const auto& c : cases)
    CHECK(inferred(tenon::table_of<Product>(), {{c.left, tenon::f32}, {c.right, tenon::f32}}) ==
          c.result);
}

TEST_CASE("the output's dtype is the shared one, or that of a fixed result") {
  const tenon::Shape s{2};
  for (const DType dtype : {tenon::f16, tenon::bf16, tenon::f32, tenon::f64})
    CHECK(inferred(tenon::table_of<Quadratic>(), {{s, dtype}}) == tenon::join(dtype, " [2]"));
  for (const DType dtype :
       {tenon::boolean, tenon::u8, tenon::i8, tenon::i32, tenon::i64, tenon::f16, tenon::f64})
    CHECK(inferred(tenon::table_of<Greater>(), {{s, dtype}, {s, dtype}}) == "bool [2]");
  CHECK(inferred(tenon::table_of<Choose>(),
                 {{s, tenon::boolean}, {s, tenon::f16}, {s, tenon::f16}}) == "float16 [2]");
  CHECK(inferred(tenon::table_of<Quadratic>(), {{s, tenon::i32}}) ==
        "there is no kernel for int32");
}

TEST_CASE("one input has the shape of the output, whichever is known") {
  CHECK(inferred(tenon::table_of<Quadratic>(), {{{}, tenon::f32}}, {{2, any}, tenon::f32}, 0) ==
        "float32 [2, ?]");
  CHECK(inferred(tenon::table_of<Quadratic>(), {{{any, 3}, tenon::f32}}, {{2, any}, tenon::f32}) ==
        "float32 [2, 3]");
}

TEST_CASE("the description declares the features of the kernels") {
  const auto& quadratic = description<Quadratic>;
  CHECK((quadratic.elementwise && quadratic.accumulates && quadratic.strides &&
         quadratic.backward_reads.has_value));
  CHECK(pairs(quadratic.inplace) == "x>y");
  CHECK(pairs(quadratic.backward_inplace) == "y>x");
  CHECK(list(quadratic.backward_reads.value) == "x");
  CHECK(list(description<Tanh>.backward_reads.value) == "y");
  CHECK(list(description<Cube>.backward_reads.value) == "x");
  CHECK(list(description<Difference>.backward_reads.value) == "");
  CHECK(list(description<Ratio>.backward_reads.value) == "left right");
  CHECK(pairs(description<Ratio>.inplace) == "left>ratio right>ratio");
  CHECK(pairs(description<Greater>.inplace) == "");
  CHECK(pairs(description<Greater>.backward_inplace) == "");
  CHECK(pairs(description<Choose>.inplace) == "yes>result no>result");
  CHECK(list(description<Choose>.backward_reads.value) == "condition yes no");
}

TEST_CASE("tables contain the functions of the classes") {
  CHECK((tenon::table_of<Quadratic>()->forward && tenon::table_of<Quadratic>()->backward &&
         tenon::table_of<Quadratic>()->forward_sparse));
  CHECK((tenon::table_of<Product>()->backward && !tenon::table_of<Choose>()->forward_sparse));
  CHECK((!tenon::table_of<Greater>()->backward && !tenon::table_of<Quadratic>()->gradient));
}
