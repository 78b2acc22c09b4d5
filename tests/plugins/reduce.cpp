// The oracle visits every element by its position and adds in long double; maxima, minima and
// indices follow numpy's rules for ties and nan.
#include <algorithm>
#include <limits>
#include <map>

#include "built.hpp"
#include "numbers.hpp"

using namespace plugin_tests;

namespace {
bool is_reduced(const Integers& axis, int a, int rank) {
  return axis.empty() || std::count(axis.begin(), axis.end(), a) ||
         std::count(axis.begin(), axis.end(), a - rank);
}

Shape reduced_shape(const Shape& x, const Integers& axis, bool keepdims) {
  Integers dims;
  for (int a = 0; a < x.rank(); ++a)
    if (!is_reduced(axis, a, x.rank()))
      dims.push_back(x[a]);
    else if (keepdims)
      dims.push_back(1);
  return Shape(dims.data(), static_cast<int>(dims.size()));
}

/// The elements of x for each result, in row-major order.
std::vector<Doubles> groups(const Tensor& x, const Integers& axis) {
  const auto kept = reduced_shape(x.shape(), axis, true);
  std::vector<Doubles> result(static_cast<std::size_t>(kept.size()));
  const auto values = doubles(x);
  std::size_t i = 0;
  for (const auto& at : positions(x.shape())) result[offset(kept, at)].push_back(values[i++]);
  return result;
}

std::size_t index_of(const Doubles& group, bool larger) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < group.size(); ++i)
    if (!std::isnan(group[best]) &&
        (std::isnan(group[i]) || (larger ? group[i] > group[best] : group[i] < group[best])))
      best = i;
  return best;
}
double max_of(const Doubles& group) {
  return group[index_of(group, true)];
}
double min_of(const Doubles& group) {
  return group[index_of(group, false)];
}
double argmax_of(const Doubles& group) {
  return static_cast<double>(index_of(group, true));
}

struct Reduction {
  std::string op;
  double (*oracle)(const Doubles&);
  bool one_axis = false;
};
const Reduction reductions[] = {{"sum", sum_of},
                                {"mean", mean_of},
                                {"max", max_of},
                                {"min", min_of},
                                {"argmax", argmax_of, true}};

DType dtype_of_result(const std::string& op, DType dtype) {
  if (op == "argmax") return tenon::i64;
  if (op == "max" || op == "min" || tenon::floating.has(dtype)) return dtype;
  return op == "sum" ? tenon::i64 : tenon::f64;
}

struct ReducedAxes {
  Shape shape;
  Integers axis;
};
// inner, outer, middle and mixed axes; lengths around the sizes at which the kernels split them
const ReducedAxes reduced_axes[] = {
    {Shape::scalar(), {}},
    {{1}, {0}},
    {{5}, {}},
    {{17}, {-1}},
    {{1023}, {0}},
    {{1025}, {0}},
    {{4, 3}, {0}},
    {{4, 3}, {1}},
    {{4, 3}, {}},
    {{3, 257}, {0}},
    {{257, 3}, {0}},
    {{130, 259}, {0}},
    {{2, 2049}, {1}},
    {{2, 3, 4}, {1}},
    {{2, 3, 4}, {0, 2}},
    {{2, 3, 4}, {-1, 0}},
    {{3, 65, 5}, {1}},
    {{5, 1, 7, 1}, {1}},
    {{5, 1, 7, 1}, {2}},
    {{1, 1, 1}, {1}},
    {{2, 3, 4, 5}, {1, 3}},
    {{3, 2, 2, 3, 2, 2, 2, 2}, {0, 2, 4, 6}},
    {{70, 3, 40}, {0, 2}},
};

Attributes attributes(const Integers& axis, bool keepdims) {
  return {{"axis", axis}, {"keepdims", keepdims}};
}
}  // namespace

TEST_CASE("every reduction matches a loop over the elements, for every axis, dtype and keepdims") {
  const auto dtypes = {tenon::boolean, tenon::u8,   tenon::i8,  tenon::i32, tenon::i64,
                       tenon::f16,     tenon::bf16, tenon::f32, tenon::f64};
  for (const auto& reduction : reductions)
    for (const auto& row : reduced_axes)
      for (const DType dtype : dtypes)
        for (const bool keepdims : {false, true}) {
          if (reduction.one_axis && row.axis.size() > 1) continue;
          INFO(reduction.op, " of ", name(dtype), " ", tenon::to_string(row.shape), " keepdims ",
               keepdims);
          const auto x = arbitrary(dtype, row.shape, 0, dtype == tenon::boolean ? 2 : 5);
          Doubles expected;
          for (const auto& group : groups(x, row.axis)) expected.push_back(reduction.oracle(group));
          const auto result = dtype_of_result(reduction.op, dtype);
          check_near(host().call(reduction.op, {x}, attributes(row.axis, keepdims)), result,
                     reduced_shape(row.shape, row.axis, keepdims), expected, 8 * epsilon(result));
        }
}

TEST_CASE(
    "reductions over no elements: 0 for a sum, nan for a mean, and an empty result if there is no "
    "result element") {
  const auto x = Tensor::empty(tenon::f32, {0, 3});
  check_near(host().call("sum", {x}, attributes({0}, false)), tenon::f32, {3}, {0, 0, 0}, 0);
  check_near(host().call("mean", {x}, attributes({0}, false)), tenon::f32, {3},
             {nan_value, nan_value, nan_value}, 0);
  check_near(host().call("sum", {x}), tenon::f32, Shape::scalar(), {0}, 0);
  for (const char* op : {"sum", "mean", "max", "min", "argmax"}) {
    const auto y = host().call(op, {x}, attributes({1}, true));
    CHECK(tenon::to_string(y.shape()) == "[0, 1]");
  }
}

TEST_CASE("nan and infinities propagate as in numpy") {
  const Doubles values = {1, -inf, 5, nan_value, 7, nan_value};
  for (const DType dtype : floating_dtypes)
    for (const std::int64_t width : {1, 3}) {  // along the innermost axis, and along an outer one
      Doubles repeated;
      for (const double value : values)
        repeated.insert(repeated.end(), static_cast<std::size_t>(width), value);
      const auto x = tensor(dtype, {6, width}, repeated);
      const auto all = [&](double value) {
        return Doubles(static_cast<std::size_t>(width), value);
      };
      check_near(host().call("max", {x}, attributes({0}, false)), dtype, {width}, all(nan_value),
                 0);
      check_near(host().call("min", {x}, attributes({0}, false)), dtype, {width}, all(nan_value),
                 0);
      check_near(host().call("argmax", {x}, attributes({0}, false)), tenon::i64, {width}, all(3),
                 0);
    }
  check_near(host().call("max", {tensor(tenon::f32, {2}, {-inf, -inf})}), tenon::f32,
             Shape::scalar(), {-inf}, 0);
  check_near(host().call("argmax", {tensor(tenon::f32, {4}, {2, 7, 7, 1})}), tenon::i64,
             Shape::scalar(), {1}, 0);
}

TEST_CASE("sums of integers exceed the range of their dtype, and wrap around as int64") {
  check_near(host().call("sum", {tensor(tenon::u8, {3}, {255, 255, 255})}), tenon::i64,
             Shape::scalar(), {765}, 0);
  check_near(host().call("sum", {tensor(tenon::i8, {2}, {-128, -128})}), tenon::i64,
             Shape::scalar(), {-256}, 0);
  const auto y = host().call("sum", {Tensor::from<std::int64_t>({INT64_MAX, 1}, {2})});
  CHECK(y.values<std::int64_t>()[0] == INT64_MIN);
}

TEST_CASE("long sums are accurate") {
  // sequential addition in float would end near 2^24 * 0.1; pairwise addition loses almost nothing
  const std::int64_t count = 1 << 22;
  const double tenth = 0.1f;
  const auto column =
      tensor(tenon::f32, {count, 1}, Doubles(static_cast<std::size_t>(count), tenth))
          .reshape({count});
  const double all = tenth * static_cast<double>(count);
  check_near(host().call("sum", {column}), tenon::f32, Shape::scalar(), {all}, 1e-6);
  check_near(host().call("mean", {column}), tenon::f32, Shape::scalar(), {tenth}, 1e-6);
  check_near(host().call("sum", {column.reshape({count / 4, 4})}, attributes({0}, false)),
             tenon::f32, {4}, Doubles(4, all / 4), 1e-6);
  check_near(host().call("sum", {column.reshape({4, count / 4})}, attributes({1}, false)),
             tenon::f32, {4}, Doubles(4, all / 4), 1e-6);
  // with enough rows for every thread, one thread reduces a row
  const auto rows = column.reshape({16, count / 16});
  check_near(host().call("sum", {rows}, attributes({1}, false)), tenon::f32, {16},
             Doubles(16, all / 16), 1e-6);
  check_near(host().call("mean", {tensor(tenon::f16, {70000}, Doubles(70000, 3))}), tenon::f16,
             Shape::scalar(), {3}, 0);
}

TEST_CASE("the same bits on one thread and on four, for few outputs and large inputs") {
  tenon::HostOptions options;
  options.threads = 1;
  options.trust_writable = true;
  options.search_defaults = false;
  tenon::Host single(options);
  single.add_plugins(built("plugins"));
  for (const ReducedAxes& row :
       {ReducedAxes{{1000003}, {0}}, ReducedAxes{{300007, 3}, {0}}, ReducedAxes{{3, 300007}, {1}},
        ReducedAxes{{101, 77, 103}, {0, 2}}, ReducedAxes{{7001, 300}, {0}}})
    for (const char* op : {"sum", "mean", "max"}) {
      INFO(op, " of ", tenon::to_string(row.shape));
      const auto x = arbitrary(tenon::f32, row.shape, -1, 1);
      CHECK(same_bits(single.call(op, {x}, attributes(row.axis, false)),
                      host().call(op, {x}, attributes(row.axis, false))));
    }
}

TEST_CASE("reductions refuse invalid arguments with the reason") {
  const auto x = tensor(tenon::f32, {2, 3}, Doubles(6));
  const auto none = Tensor::empty(tenon::f32, {0, 3});
  struct Row {
    std::string op;
    Tensor input;
    Attributes attributes;
    std::vector<std::string> words;
  };
  const Row rows[] = {
      {"sum", x, {{"axis", Integers{2}}}, {"sum", "axis", "2", "out of range"}},
      {"mean", x, {{"axis", Integers{-3}}}, {"axis", "-3", "out of range"}},
      {"sum", x, {{"axis", Integers{0, -2}}}, {"axis", "twice"}},
      {"max", none, {}, {"max", "[0, 3]", "no elements"}},
      {"min", none, {{"axis", Integers{0}}}, {"[0, 3]", "no elements"}},
      {"argmax", none, {{"axis", Integers{0}}}, {"[0, 3]", "no elements"}},
      {"argmax", x, {{"axis", Integers{0, 1}}}, {"argmax", "axis", "2"}},
      {"sum", x, {{"axes", Integers{0}}}, {"axes", "axis"}},
  };
  for (const auto& row : rows) {
    INFO(row.op);
    check_says(failure(row.op, {row.input}, row.attributes), row.words);
  }
}
