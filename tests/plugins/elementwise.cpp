// Oracles: the C library in double, and numpy's rules for dtypes, broadcasting, integers and nan.
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <tenon/host/session.hpp>
#include <tenon/select.hpp>

#include "numbers.hpp"
#include "units_off.hpp"

using namespace plugin_tests;

namespace {
struct Unary {
  std::string op;
  std::function<double(double)> oracle;
  double low = -4, high = 4;
  Attributes attributes = {};
};

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

const Unary unary[] = {
    {"neg", [](double x) { return -x; }},
    {"abs", [](double x) { return std::fabs(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }, 0.01, 100},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0, 100},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.01, 100},
    {"square", [](double x) { return x * x; }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"sigmoid", logistic, -20, 20},
    {"relu", [](double x) { return x > 0 ? x : 0; }},
    {"leaky_relu", [](double x) { return x > 0 ? x : 0.01 * x; }},
    {"leaky_relu", [](double x) { return x > 0 ? x : 0.25 * x; }, -4, 4, {{"slope", 0.25}}},
    {"gelu", [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"softplus", [](double x) { return std::log1p(std::exp(x)); }, -30, 30},
    {"clip",
     [](double x) { return x < -1    ? -1
                           : x > 2.5 ? 2.5
                                     : x; },
     -4,
     4,
     {{"low", -1}, {"high", 2.5}}},
    {"quadratic",
     [](double x) { return 2 * x * x - 3 * x + 0.5; },
     -4,
     4,
     {{"a", 2}, {"b", -3}, {"c", 0.5}}},
    {"cosine", [](double x) { return 2 * std::cos(x); }, -4, 4, {{"scale", 2}}},
    {"smooth_l1", [](double x) { return std::fabs(x) < 1 ? 0.5 * x * x : std::fabs(x) - 0.5; }},
    {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"round", [](double x) { return std::nearbyint(x); }},
    {"sign", [](double x) { return double(x > 0) - double(x < 0); }},
    {"reciprocal", [](double x) { return 1 / x; }, 0.01, 100},
    {"tan", [](double x) { return std::tan(x); }, -1.5, 1.5},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"cosh", [](double x) { return std::cosh(x); }},
    {"asin", [](double x) { return std::asin(x); }, -1, 1},
    {"acos", [](double x) { return std::acos(x); }, -1, 1},
    {"atan", [](double x) { return std::atan(x); }},
    {"asinh", [](double x) { return std::asinh(x); }},
    {"acosh", [](double x) { return std::acosh(x); }, 1, 9},
    {"atanh", [](double x) { return std::atanh(x); }, -0.99, 0.99},
    {"elu", [](double x) { return x < 0 ? 2 * std::expm1(x) : x; }, -4, 4, {{"alpha", 2}}},
    {"selu",
     [](double x) {
       return 1.05070102214813232421875 * (x < 0 ? 1.67326319217681884765625 * std::expm1(x) : x);
     }},
    {"celu", [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }, -4, 4, {{"alpha", 2}}},
    {"hard_sigmoid", [](double x) { return std::fmin(std::fmax(0.2 * x + 0.5, 0), 1); }},
    {"hard_swish", [](double x) { return x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1); }},
    {"swish", [](double x) { return x * logistic(1.5 * x); }, -20, 20, {{"alpha", 1.5}}},
    {"mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, -30, 60},
    {"softsign", [](double x) { return x / (1 + std::fabs(x)); }},
    {"thresholded_relu", [](double x) { return x > 1.5 ? x : 0; }, -4, 4, {{"threshold", 1.5}}},
    {"shrink",
     [](double x) { return x < -1  ? x + 0.5
                           : x > 1 ? x - 0.5
                                   : 0; },
     -4,
     4,
     {{"bias", 0.5}, {"threshold", 1}}},
    {"gelu_tanh",
     [](double x) {
       return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
     }},
};

struct Binary {
  std::string op;
  std::function<double(double, double)> oracle;
  bool gives_bool = false;
};

const Binary binary[] = {
    {"add", [](double l, double r) { return l + r; }},
    {"sub", [](double l, double r) { return l - r; }},
    {"mul", [](double l, double r) { return l * r; }},
    {"div", [](double l, double r) { return l / r; }},
    {"maximum", [](double l, double r) { return l > r ? l : r; }},
    {"minimum", [](double l, double r) { return l < r ? l : r; }},
    {"equal", [](double l, double r) { return double(l == r); }, true},
    {"greater", [](double l, double r) { return double(l > r); }, true},
    {"less", [](double l, double r) { return double(l < r); }, true},
    {"less_equal", [](double l, double r) { return double(l <= r); }, true},
    {"greater_equal", [](double l, double r) { return double(l >= r); }, true},
    {"not_equal", [](double l, double r) { return double(l != r); }, true},
    {"mod", [](double l, double r) { return std::fmod(l, r); }},
};

Shape broadcast(const Shape& left, const Shape& right) {
  const int rank = std::max(left.rank(), right.rank());
  auto result = Shape::of_rank(rank);
  for (int a = 1; a <= rank; ++a) {
    const auto l = a <= left.rank() ? left[-a] : 1, r = a <= right.rank() ? right[-a] : 1;
    result.set(-a, l == 1 ? r : l);
  }
  return result;
}

Doubles over(const Tensor& left, const Tensor& right,
             const std::function<double(double, double)>& oracle) {
  Doubles result;
  const auto l = doubles(left), r = doubles(right);
  for (const auto& at : positions(broadcast(left.shape(), right.shape())))
    result.push_back(oracle(l[offset(left.shape(), at)], r[offset(right.shape(), at)]));
  return result;
}

struct Extreme {
  std::string op;
  double x, y;
  Attributes attributes = {};
};
}  // namespace

TEST_CASE(
    "functions of one tensor agree with the C library in double, for every floating dtype and "
    "size") {
  for (const auto& row : unary)
    for (const DType dtype : floating_dtypes)
      for (const Shape& shape : {Shape::scalar(), Shape{0}, Shape{1}, Shape{7}, Shape{3, 0, 2},
                                 Shape{5, 33}, Shape{3, 1, 4097}}) {
        INFO(row.op, " of ", name(dtype), " ", tenon::to_string(shape));
        const auto x = arbitrary(dtype, shape, row.low, row.high);
        Doubles expected;
        for (const double value : doubles(x)) expected.push_back(row.oracle(value));
        // exp's relative error is its argument's absolute error, at least that of rounding 4 to
        // float
        check_near(host().call(row.op, {x}, row.attributes), dtype, shape, expected,
                   8 * epsilon(dtype));
      }
}

TEST_CASE("the gradient of gelu matches its formula, within 2^-21 in float") {
  constexpr int count = 40001;
  auto x = Tensor::zeros(tenon::f32, {count});
  for (int i = 0; i < count; ++i) x.data<float>()[i] = static_cast<float>(i - count / 2) * 1e-3F;
  tenon::Graph graph(host());
  const auto variable = graph.variable("x", x);
  graph.output("dx",
               graph.gradient(graph.add("sum", {graph.add("gelu", {variable})}), {variable})[0]);
  const auto found = tenon::Session(graph).run({}).at("dx");
  double furthest = 0;
  for (int i = 0; i < count; ++i) {
    const double at = x.data<float>()[i],
                 density = std::exp(-at * at / 2) / std::sqrt(2 * 3.14159265358979323846);
    const double expected = 0.5 * std::erfc(-at / std::sqrt(2.0)) + at * density;
    furthest =
        std::max(furthest, std::fabs(static_cast<double>(found.data<float>()[i]) - expected));
  }
  CHECK(furthest < 0x1p-21);
}

TEST_CASE(
    "float functions are within 2 ulp for all magnitudes; gelu within 4 ulp below 0, and within "
    "1e-12 near 0") {
  Doubles x = {0, 1, -1, inf, -inf, nan_value, 1e-45, -1e-45, 3.4e38, -3.4e38};
  for (std::uint64_t bits = 0; bits < std::uint64_t(1) << 32; bits += 65'537) {
    const auto value = tenon::bits_as<float>(static_cast<std::uint32_t>(bits));
    x.push_back(value);
    x.push_back(std::fmod(value, 20.f));  // the range in which most of these functions vary
  }
  const auto from = tensor(tenon::f32, Shape{static_cast<std::int64_t>(x.size())}, x);
  const auto wide = doubles(from);
  for (const auto& row : unary) {
    const std::string op = row.op;
    const std::set<std::string> precise = {
        "exp",  "log",  "tanh", "erf",  "sin",   "cos",   "sigmoid", "gelu",  "tan",  "sinh",
        "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh",   "floor", "ceil", "round"};
    if (precise.count(op) == 0) continue;
    INFO(op);
    const auto found = host().call(op, {from});
    double worst = 0;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const auto right = row.oracle(wide[i]);
      // Absolute error for gelu's signs of 0, for -inf, where the formula is -inf times 0, and
      // where its tail is almost 0.
      const bool tail = op == "gelu" && std::fabs(right) <= 1e-6 &&
                        std::fabs(found.data<float>()[i] - right) < 1e-12;
      if (op == "gelu" && wide[i] == -inf) CHECK(found.data<float>()[i] == 0);
      if (tail || (op == "gelu" && wide[i] == -inf)) continue;
      worst = std::max(
          worst, units_off(found.data<float>()[i], right) / (op == "gelu" && right < 0 ? 2 : 1));
    }
    CHECK(worst <= 2);
  }
}

TEST_CASE("functions of two tensors broadcast like numpy, for every dtype") {
  const std::pair<Shape, Shape> shapes[] = {{Shape::scalar(), Shape::scalar()},
                                            {Shape{6}, Shape::scalar()},
                                            {Shape::scalar(), Shape{6}},
                                            {Shape{5, 7}, Shape{7}},
                                            {Shape{5, 1}, Shape{1, 7}},
                                            {Shape{1}, Shape{0}},
                                            {Shape{3, 0}, Shape{3, 1}},
                                            {Shape{2, 3, 4}, Shape{3, 1}},
                                            {Shape{2, 1, 4, 1}, Shape{5, 1, 6}},
                                            {Shape{9, 33}, Shape{9, 33}},
                                            {Shape{1, 1, 1, 1, 1, 1, 1, 2}, Shape{3, 1}}};
  const auto dtypes = {tenon::u8,  tenon::i8,   tenon::i32, tenon::i64,
                       tenon::f16, tenon::bf16, tenon::f32, tenon::f64};
  for (const auto& row : binary)
    for (const DType dtype : dtypes)
      for (const auto& pair : shapes) {
        const auto &left = pair.first, &right = pair.second;
        INFO(row.op, " of ", name(dtype), " ", tenon::to_string(left), " and ",
             tenon::to_string(right));
        const auto l = arbitrary(dtype, left, 1, 11, 1), r = arbitrary(dtype, right, 1, 11, 2);
        const bool whole = !tenon::floating.has(dtype);
        auto expected = over(l, r, row.oracle);
        if (dtype == tenon::u8 && std::string(row.op) == "sub")
          for (double& value : expected) value = value < 0 ? value + 256 : value;
        const auto gives = row.gives_bool                          ? tenon::boolean
                           : whole && std::string(row.op) == "div" ? tenon::f64
                                                                   : dtype;
        check_near(host().call(row.op, {l, r}), gives, broadcast(left, right), expected,
                   whole ? 0 : 2 * epsilon(dtype));
      }
}

TEST_CASE("pow agrees with the C library, and with repeated products for integers") {
  for (const DType dtype : floating_dtypes) {
    const auto base = arbitrary(dtype, {4, 33}, 0.1, 4, 1),
               exponent = arbitrary(dtype, {33}, -3, 3, 2);
    const auto expected = over(base, exponent, [](double b, double e) { return std::pow(b, e); });
    check_near(host().call("pow", {base, exponent}), dtype, {4, 33}, expected, 4 * epsilon(dtype));
  }
  const auto bases = tensor(tenon::i64, {6, 1}, {-3, -1, 0, 1, 2, 7}),
             exponents = tensor(tenon::i64, {4}, {0, 1, 5, -2});
  check_near(host().call("pow", {bases, exponents}), tenon::i64, {6, 4},
             {1, -3, -243, 0, 1, -1, -1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 2, 32, 0, 1, 7, 16807, 0},
             0);
  check_near(host().call("pow", {tensor(tenon::i32, {3}, {2, 3, -2}),
                                 tensor(tenon::i32, {3}, {33, 40, 31})}),
             tenon::i32, {3}, {0, 689956897.0, -2147483648.0}, 0);
}

TEST_CASE("values at the ends of the range") {
  const Extreme rows[] = {
      {"log", 0, -inf},
      {"log", -1, nan_value},
      {"sqrt", -1, nan_value},
      {"rsqrt", 0, inf},
      {"exp", 1000, inf},
      {"exp", -1000, 0},
      {"sigmoid", -1000, 0},
      {"sigmoid", 1000, 1},
      {"softplus", 1000, 1000},
      {"softplus", -1000, 0},
      {"tanh", 1000, 1},
      {"relu", nan_value, nan_value},
      {"relu", -inf, 0},
      {"gelu", -1000, 0},
      {"erf", -1000, -1},
      {"leaky_relu", inf, inf},
      {"abs", -inf, inf},
      {"round", 2.5, 2},
      {"round", -3.5, -4},
      {"round", -inf, -inf},
      {"floor", nan_value, nan_value},
      {"sign", nan_value, nan_value},
      {"sign", -inf, -1},
      {"reciprocal", 0, inf},
      {"elu", -1000, -1},
      {"selu", nan_value, nan_value},
      {"celu", -1, 0, {{"alpha", 0}}},
      {"hard_sigmoid", nan_value, nan_value},
      {"hard_swish", 1000, 1000},
      {"swish", -1000, 0},
      {"swish", inf, inf},
      {"mish", -1000, 0},
      {"mish", inf, inf},
      {"softsign", 0, 0},
      {"thresholded_relu", nan_value, 0},
      {"shrink", nan_value, 0},
      {"gelu_tanh", -1000, 0},
      {"asin", 2, nan_value},
      {"acosh", 0.5, nan_value},
      {"atanh", 1, inf},
      {"clip", nan_value, nan_value, {{"low", 0}, {"high", 1}}},
      {"clip", -inf, 0, {{"low", 0}, {"high", 1}}},
  };
  for (const auto& row : rows)
    for (const DType dtype : floating_dtypes) {
      INFO(row.op, " of ", row.x, " as ", name(dtype));
      check_near(host().call(row.op, {tensor(dtype, {1}, {row.x})}, row.attributes), dtype, {1},
                 {row.y}, 0);
    }
  // small results keep their digits: log(1 + exp(-30)) is exp(-30), although 1 + exp(-30) is 1 in
  // float
  const auto small = doubles(host().call("softplus", {tensor(tenon::f32, {1}, {-30})}))[0];
  CHECK(std::abs(small / std::exp(-30.0) - 1) < 1e-6);
}

TEST_CASE("maximum and minimum propagate nan from either side, like numpy") {
  const auto left = tensor(tenon::f32, {4}, {nan_value, 1, nan_value, -inf}),
             right = tensor(tenon::f32, {4}, {1, nan_value, nan_value, inf});
  check_near(host().call("maximum", {left, right}), tenon::f32, {4},
             {nan_value, nan_value, nan_value, inf}, 0);
  check_near(host().call("minimum", {left, right}), tenon::f32, {4},
             {nan_value, nan_value, nan_value, -inf}, 0);
  check_near(host().call("equal", {left, right}), tenon::boolean, {4}, {0, 0, 0, 0}, 0);
  check_near(host().call("not_equal", {left, right}), tenon::boolean, {4}, {1, 1, 1, 1}, 0);
  check_near(host().call("less_equal", {left, right}), tenon::boolean, {4}, {0, 0, 0, 1}, 0);
  check_near(host().call("greater_equal", {left, right}), tenon::boolean, {4}, {0, 0, 0, 0}, 0);
  check_near(host().call("is_nan", {left}), tenon::boolean, {4}, {1, 0, 1, 0}, 0);
  check_near(host().call("is_inf", {left}), tenon::boolean, {4}, {0, 0, 0, 1}, 0);
  check_near(host().call("is_inf", {left}, {{"detect_negative", false}}), tenon::boolean, {4},
             {0, 0, 0, 0}, 0);
  check_near(host().call("is_inf", {right}, {{"detect_negative", false}}), tenon::boolean, {4},
             {0, 0, 0, 1}, 0);
}

TEST_CASE("integers wrap around like numpy's") {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min(),
                 highest = std::numeric_limits<std::int64_t>::max();
  const auto low = Tensor::from<std::int64_t>({lowest}, {1}),
             high = Tensor::from<std::int64_t>({highest}, {1});
  const auto one = Tensor::from<std::int64_t>({1}, {1});
  const auto value = [](const Tensor& y) { return y.values<std::int64_t>()[0]; };
  CHECK(value(host().call("add", {high, one})) == lowest);
  CHECK(value(host().call("sub", {low, one})) == highest);
  CHECK(value(host().call("mul", {high, high})) == 1);
  CHECK(value(host().call("square", {low})) == 0);
  CHECK(value(host().call("neg", {low})) == lowest);
  CHECK(value(host().call("abs", {low})) == lowest);
  CHECK(value(host().call("maximum", {low, high})) == highest);
  check_near(
      host().call("add", {tensor(tenon::i8, {2}, {127, -128}), tensor(tenon::i8, {2}, {1, -1})}),
      tenon::i8, {2}, {-128, 127}, 0);
  check_near(host().call("neg", {tensor(tenon::u8, {2}, {0, 3})}), tenon::u8, {2}, {0, 253}, 0);
  check_near(
      host().call("mul", {tensor(tenon::i32, {1}, {65536}), tensor(tenon::i32, {1}, {65536})}),
      tenon::i32, {1}, {0}, 0);
  check_near(
      host().call("div", {tensor(tenon::i32, {3}, {1, 7, 0}), tensor(tenon::i32, {3}, {2, -4, 0})}),
      tenon::f64, {3}, {0.5, -1.75, nan_value}, 0);
}

TEST_CASE("clip of integers keeps their dtype and reaches the ends of its range") {
  const Attributes bounds = {{"low", -1000.0}, {"high", 2.7}};
  check_near(host().call("clip", {tensor(tenon::i8, {4}, {-128, 0, 2, 127})}, bounds), tenon::i8,
             {4}, {-128, 0, 2, 2}, 0);
  check_near(host().call("clip", {tensor(tenon::u8, {3}, {0, 2, 255})}, bounds), tenon::u8, {3},
             {0, 2, 2}, 0);
}

TEST_CASE("where selects by a condition that broadcasts like the other inputs, for every dtype") {
  const auto condition = tensor(tenon::boolean, {3, 1}, {1, 0, 1});
  for (const DType dtype : {tenon::boolean, tenon::u8, tenon::i8, tenon::i32, tenon::i64,
                            tenon::f16, tenon::bf16, tenon::f32, tenon::f64}) {
    const auto yes = tensor(dtype, {2}, {1, 0}), no = tensor(dtype, {3, 2}, {0, 1, 1, 1, 0, 0});
    check_near(host().call("where", {condition, yes, no}), dtype, {3, 2}, {1, 0, 1, 1, 1, 0}, 0);
  }
  const auto untaken = host().call("where", {condition, tensor(tenon::f32, Shape::scalar(), {inf}),
                                             tensor(tenon::f32, {1}, {nan_value})});
  check_near(untaken, tenon::f32, {3, 1}, {inf, nan_value, inf}, 0);
}

TEST_CASE(
    "cast follows C for integers, saturates from floating dtypes, and turns nonzero numbers into "
    "true") {
  struct Row {
    DType from;
    const char* to;
    DType dtype;
    Doubles x, y;
  };
  const Row rows[] = {
      {tenon::f32,
       "int32",
       tenon::i32,
       {1.9, -1.9, 1e20, -1e20, nan_value, inf},
       {1, -1, 2147483647.0, -2147483648.0, 0, 2147483647.0}},
      {tenon::f64, "uint8", tenon::u8, {-1, 255.9, 256, 3.5}, {0, 255, 255, 3}},
      {tenon::f16, "int8", tenon::i8, {-129, 127, 128, 0.5}, {-128, 127, 127, 0}},
      {tenon::i32, "uint8", tenon::u8, {-1, 256, 257}, {255, 0, 1}},
      {tenon::i64, "int8", tenon::i8, {128, -129}, {-128, 127}},
      {tenon::f32, "bool", tenon::boolean, {0, -0.0, 0.5, nan_value, inf}, {0, 0, 1, 1, 1}},
      {tenon::i64, "bool", tenon::boolean, {0, 256, -1}, {0, 1, 1}},
      {tenon::boolean, "float16", tenon::f16, {0, 1}, {0, 1}},
      {tenon::boolean, "int64", tenon::i64, {0, 1}, {0, 1}},
      {tenon::f64, "float32", tenon::f32, {0.5, 1e300, -1e300}, {0.5, inf, -inf}},
      {tenon::f32, "float16", tenon::f16, {1.00048828125, 65520, 1e-8}, {1, inf, 0}},
      {tenon::f32, "bfloat16", tenon::bf16, {1.00390625, 3.0}, {1, 3}},
      {tenon::bf16, "float64", tenon::f64, {0.5, -3}, {0.5, -3}},
      {tenon::u8, "float32", tenon::f32, {0, 255}, {0, 255}},
      {tenon::f64,
       "int64",
       tenon::i64,
       {-9.3e18, 2251799813685249.5},
       {-9223372036854775808.0, 2251799813685249.0}},
  };
  for (const auto& row : rows) {
    INFO(name(row.from), " to ", row.to);
    const Shape shape{static_cast<std::int64_t>(row.x.size())};
    check_near(host().call("cast", {tensor(row.from, shape, row.x)}, {{"dtype", row.to}}),
               row.dtype, shape, row.y, 0);
  }
  CHECK(host()
            .call("cast", {tensor(tenon::f64, {1}, {9.3e18})}, {{"dtype", "int64"}})
            .values<std::int64_t>()[0] == INT64_MAX);
  check_near(host().call("cast", {Tensor::empty(tenon::f32, {0, 3})}, {{"dtype", "int8"}}),
             tenon::i8, {0, 3}, {}, 0);
}

TEST_CASE("test_add adds tensors of equal shapes only") {
  const auto x = arbitrary(tenon::f32, {3, 5}, -1, 1);
  check_near(host().call("test_add", {x, x}), tenon::f32, {3, 5},
             over(x, x, [](double l, double r) { return l + r; }), 0);
  check_says(failure("test_add", {x, tensor(tenon::f32, {5}, Doubles(5))}), {"[3, 5]", "[5]"});
}

TEST_CASE("elementwise operators refuse invalid arguments with the reason") {
  const auto floats = tensor(tenon::f32, {2, 3}, Doubles(6)),
             whole = tensor(tenon::i32, {2, 3}, Doubles(6));
  const auto four = tensor(tenon::f32, {4}, Doubles(4));
  struct Row {
    std::string op;
    std::vector<Tensor> inputs;
    Attributes attributes;
    std::vector<std::string> words;
  };
  const Row rows[] = {
      {"add", {floats, four}, {}, {"add", "[2, 3]", "[4]"}},
      {"add", {floats, whole}, {}, {"float32", "int32"}},
      {"exp", {whole}, {}, {"exp", "int32"}},
      {"where", {floats, floats, floats}, {}, {"condition", "bool"}},
      {"cast", {floats}, {}, {"cast", "dtype"}},
      {"cast", {floats}, {{"dtype", "float23"}}, {"dtype", "float23"}},
      {"clip", {floats}, {{"low", 0}}, {"high"}},
      {"clip", {floats}, {{"low", 2}, {"high", 1}}, {"low", "2", "high", "1"}},
      {"clip", {floats}, {{"low", 0}, {"high", nan_value}}, {"high", "nan"}},
      {"cosine", {floats}, {{"scale", 0}}, {"scale", "0"}},
      {"smooth_l1", {floats}, {{"sigma", -1}}, {"sigma", "-1"}},
  };
  for (const auto& row : rows) {
    INFO(row.op);
    check_says(failure(row.op, row.inputs, row.attributes), row.words);
  }
}
