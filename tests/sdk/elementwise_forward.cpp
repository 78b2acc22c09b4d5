// Forward of elementwise operators: dtypes, sizes, write modes, broadcasting and strides, each
// compared with a loop over doubles.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "call_by_hand.hpp"
#include "elementwise_operators.hpp"

using namespace by_hand;
using tenon::DType;
using tenon::Write;

namespace {

// Small integers and halves of them: products and sums of a few are exact in every floating dtype.
Values small_numbers(std::int64_t n, int seed, DType dtype) {
  Values values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(static_cast<double>((i * 7 + seed * 5) % 11 - (dtype == tenon::u8 ? 0 : 5)));
  if (dtype == tenon::boolean)
    for (double& value : values) value = std::fmod(std::fabs(value), 2);
  return values;
}

using Oracle = std::function<double(const Values&)>;

struct ForwardCase {
  const tenon_operator* table;
  Instance::Parameters parameters;
  std::vector<DType> inputs;
  DType output;
  Oracle oracle;
};

void check(const ForwardCase& c, const std::vector<Dims>& shapes, const Dims& out,
           Write write = Write::to, Layout in_layout = Layout::contiguous,
           Layout out_layout = Layout::contiguous) {
  Instance instance(c.table, c.parameters);
  std::vector<Tensor> inputs;
  std::vector<Tensor*> pointers;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    inputs.emplace_back(c.inputs[i], shapes[i],
                        small_numbers(count(shapes[i]), static_cast<int>(i) + 1, c.inputs[i]),
                        in_layout);
  std::vector<Values> before;
  for (Tensor& input : inputs) pointers.push_back(&input), before.push_back(input.values());
  Tensor output(c.output, out, small_numbers(count(out), 9, c.output), out_layout);
  Values expected;
  for (std::int64_t i = 0; i < count(out); ++i) {
    Values arguments;
    for (Tensor& input : inputs) arguments.push_back(input.get(source_of(i, out, input.dims())));
    const double result = c.oracle(arguments), old = output.get(i);
    expected.push_back(write == Write::add
                           ? (c.output == tenon::boolean ? std::max(result, old) : result + old)
                           : result);
  }
  REQUIRE(instance.forward(pointers, output, write) == "");
  CHECK(output.values() == expected);
  CHECK(output.fenced());
  for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(inputs[i].values() == before[i]);
}

const ForwardCase quadratic_of(DType dtype) {
  return {tenon::table_of<Quadratic>(),
          {{"a", 0.5}, {"b", -2}, {"c", 1}},
          {dtype},
          dtype,
          [](const Values& x) { return 0.5 * x[0] * x[0] - 2 * x[0] + 1; }};
}
const ForwardCase combine_of(DType dtype) {
  const double wrap = dtype == tenon::u8 ? 256 : 0;
  return {tenon::table_of<Combine>(), {}, {dtype, dtype}, dtype, [=](const Values& x) {
            const double sum = 2 * x[0] + x[1];
            return wrap ? std::fmod(sum + wrap, wrap) : sum;
          }};
}
const ForwardCase greater_of(DType dtype) {
  return {tenon::table_of<Greater>(), {}, {dtype, dtype}, tenon::boolean, [](const Values& x) {
            return x[0] > x[1] ? 1. : 0.;
          }};
}
const ForwardCase choose_of(DType condition, DType dtype) {
  return {tenon::table_of<Choose>(), {}, {condition, dtype, dtype}, dtype, [](const Values& x) {
            return x[0] != 0 ? x[1] : x[2];
          }};
}

const Dims sizes[] = {{},    {0},   {1},    {2},     {63},      {64},      {65},     {255},
                      {256}, {257}, {1000}, {40000}, {3, 5, 7}, {2, 0, 3}, {1, 1, 1}};
constexpr DType numeric[] = {tenon::u8,  tenon::i8,   tenon::i32, tenon::i64,
                             tenon::f16, tenon::bf16, tenon::f32, tenon::f64};

}  // namespace

TEST_CASE("forward: every floating dtype, size and write mode") {
  for (const DType dtype : floating_dtypes)
    for (const Dims& dims : sizes)
      for (const Write write : {Write::to, Write::in_place, Write::add}) {
        CAPTURE(tenon::name_of(dtype));
        CAPTURE(count(dims));
        CAPTURE(tenon::name_of(write));
        check(quadratic_of(dtype), {dims}, dims, write);
      }
}

TEST_CASE("forward: every numeric dtype and size, two inputs") {
  for (const DType dtype : numeric)
    for (const Dims& dims : sizes) {
      CAPTURE(tenon::name_of(dtype));
      CAPTURE(count(dims));
      check(combine_of(dtype), {dims, dims}, dims);
      check(greater_of(dtype), {dims, dims}, dims);
      check(greater_of(dtype), {dims, dims}, dims, Write::add);
    }
}

TEST_CASE("forward: integers add modulo 2^bits") {
  Instance instance(tenon::table_of<Combine>());
  Tensor left(tenon::i32, {1}, {0}), right(tenon::i32, {1}, {2147483647}),
      sum(tenon::i32, {1}, {2});
  REQUIRE(instance.forward({&left, &right}, sum, Write::add) == "");
  CHECK(sum.get(0) == -2147483647);
}

TEST_CASE("forward: bool inputs") {
  for (const Dims& dims : sizes) check(greater_of(tenon::boolean), {dims, dims}, dims);
}

TEST_CASE("forward: an input with its own dtype is converted") {
  for (const DType condition : {tenon::boolean, tenon::u8, tenon::i8, tenon::i32, tenon::i64,
                                tenon::f16, tenon::bf16, tenon::f32, tenon::f64})
    for (const DType dtype : floating_dtypes)
      for (const Dims& dims : {Dims{}, Dims{300}, Dims{3, 1, 5}}) {
        CAPTURE(tenon::name_of(condition));
        CAPTURE(tenon::name_of(dtype));
        check(choose_of(condition, dtype), {dims, dims, dims}, dims);
        check(choose_of(condition, dtype), {dims, {}, dims}, dims, Write::add);
      }
}

TEST_CASE("forward: broadcasting") {
  const struct {
    Dims left, right, out;
  } shapes[] = {{{3, 4}, {4}, {3, 4}},
                {{4}, {3, 4}, {3, 4}},
                {{3, 1}, {1, 4}, {3, 4}},
                {{}, {5}, {5}},
                {{1}, {700}, {700}},
                {{700}, {1, 1}, {1, 700}},
                {{2, 3, 4}, {3, 1}, {2, 3, 4}},
                {{2, 1, 4}, {2, 3, 1}, {2, 3, 4}},
                {{0, 3}, {3}, {0, 3}},
                {{1, 3}, {0, 1}, {0, 3}},
                {{200, 300}, {300}, {200, 300}},
                {{200, 300}, {200, 1}, {200, 300}},
                {{30000, 3}, {3}, {30000, 3}},
                {{1, 1, 1}, {1}, {1, 1, 1}},
                {{2, 1, 3, 1, 2, 1, 2, 1}, {3, 1, 2, 1, 2, 1, 2}, {2, 3, 3, 2, 2, 2, 2, 2}},
                {{5, 1, 7, 1}, {6, 1, 8}, {5, 6, 7, 8}}};
  for (const auto& shape : shapes)
    for (const DType dtype : {tenon::f32, tenon::f16, tenon::f64, tenon::i8})
      for (const Write write : {Write::to, Write::add}) {
        CAPTURE(count(shape.left));
        CAPTURE(count(shape.right));
        CAPTURE(tenon::name_of(dtype));
        if (dtype == tenon::i8 && write == Write::add) continue;
        check(combine_of(dtype), {shape.left, shape.right}, shape.out, write);
      }
}

TEST_CASE("forward: strided views") {
  const Layout layouts[] = {Layout::contiguous, Layout::transposed, Layout::gaps, Layout::backwards,
                            Layout::repeated};
  for (const Layout in : layouts)
    for (const Layout out :
         {Layout::contiguous, Layout::transposed, Layout::gaps, Layout::backwards})
      for (const DType dtype : {tenon::f32, tenon::bf16, tenon::i64, tenon::u8})
        for (const Dims& dims :
             {Dims{3, 5, 7}, Dims{1000}, Dims{1}, Dims{}, Dims{300, 2}, Dims{2, 0}})
          for (const Write write : {Write::to, Write::add}) {
            CAPTURE(static_cast<int>(in));
            CAPTURE(static_cast<int>(out));
            CAPTURE(tenon::name_of(dtype));
            CAPTURE(count(dims));
            if (dtype == tenon::u8 && write == Write::add) continue;
            check(combine_of(dtype), {dims, dims}, dims, write, in, out);
          }
}

TEST_CASE("forward: in-place and out-of-place results are equal") {
  for (const DType dtype : floating_dtypes)
    for (const Dims& dims : sizes) {
      Instance instance(tenon::table_of<Quadratic>(), {{"a", 0.5}, {"b", -2}, {"c", 1}});
      Tensor apart(dtype, dims), in(dtype, dims, small_numbers(count(dims), 1, dtype));
      REQUIRE(instance.forward({&in}, apart) == "");
      REQUIRE(instance.forward({&in}, in, Write::in_place) == "");
      CHECK(in.values() == apart.values());
    }
}

TEST_CASE("forward: the order of the chunks does not affect the bits") {
  for (const DType dtype : {tenon::f16, tenon::f32}) {
    const Dims dims{70, 1001}, row{1001};
    Tensor x(dtype, dims, small_numbers(count(dims), 1, dtype)),
        y(dtype, row, small_numbers(1001, 2, dtype));
    std::vector<std::vector<unsigned char>> results;
    for (const Order each : {Order::forwards, Order::backwards, Order::threads}) {
      order = each;
      Tensor out(dtype, dims);
      REQUIRE(Instance(tenon::table_of<Product>()).forward({&x, &y}, out) == "");
      results.push_back(out.bytes());
    }
    order = Order::forwards;
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
}

TEST_CASE("forward: outputs that are not requested are not written") {
  Tensor x(tenon::f32, {3}, {1, 2, 3}), y(tenon::f32, {3}, {7, 8, 9});
  REQUIRE(Instance(tenon::table_of<Tanh>()).forward({&x}, y, Write::none) == "");
  CHECK(y.values() == Values{7, 8, 9});
}

TEST_CASE("forward: mismatched shapes and dtypes are rejected without out-of-bounds reads") {
  Instance product(tenon::table_of<Product>());
  Tensor x(tenon::f32, {4}, Values(4)), y(tenon::f32, {3}, Values(3)), out(tenon::f32, {4}),
      whole(tenon::i32, {4}, Values(4));
  CHECK(product.forward({&x, &y}, out) == "[3] does not broadcast to [4]");
  CHECK(product.forward({&whole, &whole}, out) == "there is no kernel for int32");
  CHECK(product.forward({&x, &whole}, out) == "int32 cannot be read as float32 here");
}
