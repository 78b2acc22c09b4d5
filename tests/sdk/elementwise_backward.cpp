// Gradients of elementwise operators, compared with central differences in double, which an
// independent loop sums for broadcast inputs. Calls omit tensors that the description does not list
// in backward_reads.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string_view>

#include "call_by_hand.hpp"
#include "elementwise_operators.hpp"

using namespace by_hand;
using tenon::DType;
using tenon::Write;

namespace {

using Function = std::function<double(const Values&)>;

struct GradientCase {
  const char* name;
  const tenon_operator* table;
  const tenon::detail::Description* description;
  Instance::Parameters parameters;
  Function f;
};

template <class Class>
GradientCase make(const char* name, Function f, Instance::Parameters parameters = {}) {
  return {name, tenon::table_of<Class>(), &tenon::detail::description_of<tenon::Completed<Class>>,
          std::move(parameters), std::move(f)};
}

const GradientCase unary[] = {
    make<Quadratic>("quadratic", [](const Values& x) { return 0.5 * x[0] * x[0] - 2 * x[0] + 1; },
                    {{"a", 0.5}, {"b", -2}, {"c", 1}}),
    make<Tanh>("tanh", [](const Values& x) { return std::tanh(x[0]); }),
    make<Cube>("cube", [](const Values& x) { return std::pow(x[0], 3); })};
const GradientCase binary[] = {
    make<Product>("product", [](const Values& x) { return x[0] * x[1]; }),
    make<Combine>("combine", [](const Values& x) { return 2 * x[0] + x[1]; }),
    make<Difference>("difference", [](const Values& x) { return x[0] - x[1]; }),
    make<Ratio>("ratio", [](const Values& x) { return x[0] / x[1]; })};

bool reads(const GradientCase& c, std::string_view name) {
  for (const char* each : c.description->backward_reads.value)
    if (name == each) return true;
  return false;
}

double slope(const Function& f, Values x, std::size_t input) {
  const double h = 1e-5, at = x[input];
  x[input] = at + h;
  const double above = f(x);
  x[input] = at - h;
  return (above - f(x)) / (2 * h);
}

double tolerance(DType dtype) {
  return dtype == tenon::f64   ? 1e-8
         : dtype == tenon::f32 ? 2e-6
         : dtype == tenon::f16 ? 2e-3
                               : 2e-2;
}

struct Setting {
  DType dtype;
  std::vector<Dims> shapes;
  Dims out;
  std::vector<Write> writes;
  Layout layout = Layout::contiguous;
};

void check(const GradientCase& c, const Setting& s) {
  CAPTURE(c.name);
  CAPTURE(tenon::name_of(s.dtype));
  CAPTURE(count(s.out));
  std::vector<Tensor> x, dx;
  for (std::size_t i = 0; i < s.shapes.size(); ++i) {
    x.emplace_back(s.dtype, s.shapes[i], some_values(count(s.shapes[i]), static_cast<int>(i)),
                   s.layout);
    dx.emplace_back(s.dtype, s.shapes[i], some_values(count(s.shapes[i]), 7), s.layout);
  }
  Tensor dy(s.dtype, s.out, some_values(count(s.out), 5), s.layout),
      y(s.dtype, s.out, Values(static_cast<std::size_t>(count(s.out))));
  std::vector<Values> expected;
  for (std::size_t input = 0; input < x.size(); ++input) {
    Values sums(static_cast<std::size_t>(count(s.shapes[input])));
    for (std::int64_t i = 0; i < count(s.out); ++i) {
      Values arguments;
      for (const Tensor& each : x) arguments.push_back(each.get(source_of(i, s.out, each.dims())));
      y.set(i, c.f(arguments));
      sums[static_cast<std::size_t>(source_of(i, s.out, s.shapes[input]))] +=
          dy.get(i) * slope(c.f, arguments, input);
    }
    for (std::size_t j = 0; j < sums.size(); ++j) {
      const double old = dx[input].get(static_cast<std::int64_t>(j));
      if (s.writes[input] == Write::none) sums[j] = old;
      if (s.writes[input] == Write::add) sums[j] += old;
    }
    expected.push_back(sums);
  }
  std::vector<Tensor*> inputs, grads;
  for (std::size_t input = 0; input < x.size(); ++input) {
    inputs.push_back(reads(c, c.description->inputs[static_cast<int>(input)].name) ? &x[input]
                                                                                   : nullptr);
    grads.push_back(s.writes[input] == Write::none       ? nullptr
                    : s.writes[input] == Write::in_place ? &dy
                                                         : &dx[input]);
  }
  Instance instance(c.table, c.parameters);
  REQUIRE(instance.backward(inputs, reads(c, c.description->outputs[0].name) ? &y : nullptr, &dy,
                            grads, s.writes) == "");
  for (std::size_t input = 0; input < x.size(); ++input) {
    const Tensor& found = grads[input] ? *grads[input] : dx[input];
    for (std::size_t j = 0; j < expected[input].size(); ++j) {
      const double value = found.get(static_cast<std::int64_t>(j)), right = expected[input][j];
      if (!(std::fabs(value - right) <= tolerance(s.dtype) * (1 + std::fabs(right))))
        FAIL(c.name, ": element ", j, " of the gradient of input ", input, " is ", value, ", not ",
             right);
    }
    CHECK(found.fenced());
  }
}

}  // namespace

TEST_CASE("backward: every dtype, size and write mode") {
  for (const DType dtype : floating_dtypes)
    for (const Dims& dims : {Dims{}, Dims{0}, Dims{1}, Dims{65}, Dims{300}, Dims{3, 5, 7}})
      for (const Write write : {Write::to, Write::add, Write::none, Write::in_place}) {
        for (const GradientCase& c : unary) check(c, {dtype, {dims}, dims, {write}});
        for (const GradientCase& c : binary) {
          check(c, {dtype, {dims, dims}, dims, {write, Write::to}});
          check(c, {dtype, {dims, dims}, dims, {Write::add, write}});
        }
      }
}

TEST_CASE("backward: strided views") {
  for (const Layout layout : {Layout::transposed, Layout::gaps, Layout::backwards})
    for (const DType dtype : floating_dtypes) {
      for (const GradientCase& c : unary)
        check(c, {dtype, {{6, 50}}, {6, 50}, {Write::add}, layout});
      for (const GradientCase& c : binary)
        check(c, {dtype, {{6, 50}, {6, 1}}, {6, 50}, {Write::to, Write::add}, layout});
    }
}

TEST_CASE("backward: the gradient of a broadcast input is summed into its shape") {
  const struct {
    Dims left, right, out;
  } shapes[] = {{{3, 4}, {4}, {3, 4}},
                {{4}, {3, 4}, {3, 4}},
                {{3, 1}, {1, 4}, {3, 4}},
                {{}, {5}, {5}},
                {{1}, {700}, {700}},
                {{3}, {1, 3}, {1, 3}},
                {{2, 3, 4}, {3, 1}, {2, 3, 4}},
                {{0, 3}, {3}, {0, 3}},
                {{1, 3}, {0, 1}, {0, 3}},
                {{40, 300}, {300}, {40, 300}},
                {{40, 300}, {40, 1}, {40, 300}},
                {{300, 3}, {3}, {300, 3}},
                {{1, 1}, {1}, {1, 1}},
                {{5, 1, 7, 1}, {6, 1, 8}, {5, 6, 7, 8}},
                {{4, 6, 5, 5}, {6, 1, 1}, {4, 6, 5, 5}},
                {{2, 3, 4, 5}, {2, 1, 4, 1}, {2, 3, 4, 5}},
                {{2, 300, 3}, {1, 300, 1}, {2, 300, 3}}};
  for (const DType dtype : floating_dtypes)
    for (const auto& shape : shapes)
      for (const GradientCase& c : binary) {
        check(c, {dtype, {shape.left, shape.right}, shape.out, {Write::to, Write::to}});
        check(c, {dtype, {shape.left, shape.right}, shape.out, {Write::add, Write::none}});
        if (shape.left == shape.out)
          check(c, {dtype, {shape.left, shape.right}, shape.out, {Write::in_place, Write::to}});
        if (shape.right == shape.out)
          check(c, {dtype, {shape.left, shape.right}, shape.out, {Write::add, Write::in_place}});
      }
}

TEST_CASE(
    "backward: large sums are accurate (float: to the last place) and do not depend on the order "
    "of the chunks") {
  const struct {
    Dims wide, narrow;
  } shapes[] = {{{100000, 10}, {10}},
                {{1000000}, {1}},
                {{1000, 1000}, {1000, 1}},
                {{1000, 1000}, {1000}},
                {{8, 16, 80, 100}, {16, 1, 1}},
                {{20, 50000}, {1, 50000}},
                {{300000, 3}, {3}},
                {{100, 10, 1000}, {100, 1, 1000}}};
  for (const auto& shape : shapes)
    for (const DType dtype : {tenon::f32, tenon::f64}) {
      CAPTURE(count(shape.wide));
      CAPTURE(count(shape.narrow));
      Tensor dy(dtype, shape.wide), wide(dtype, shape.wide);
      std::vector<long double> expected(static_cast<std::size_t>(count(shape.narrow)));
      for (std::int64_t i = 0; i < count(shape.wide); ++i) {
        dy.set(i, 0.1 + static_cast<double>(i % 17) / 7);
        expected[static_cast<std::size_t>(source_of(i, shape.wide, shape.narrow))] += dy.get(i);
      }
      std::vector<std::vector<unsigned char>> results;
      for (const Order each : {Order::forwards, Order::backwards, Order::threads}) {
        order = each;
        Tensor dx(dtype, shape.narrow);
        const std::string failure = Instance(tenon::table_of<Difference>())
                                        .backward({nullptr, nullptr}, nullptr, &dy, {&dx, nullptr},
                                                  {Write::to, Write::none});
        order = Order::forwards;
        REQUIRE(failure == "");
        results.push_back(dx.bytes());
        for (std::size_t j = 0; j < expected.size(); ++j) {
          const double found = dx.get(static_cast<std::int64_t>(j)),
                       sum = static_cast<double>(expected[j]);
          if (std::fabs(found - sum) / sum > (dtype == tenon::f32 ? 6.1e-8 : 1e-13))
            FAIL("sum ", j, " is ", found, ", not ", sum);
        }
      }
      CHECK(results[0] == results[1]);
      CHECK(results[0] == results[2]);
    }
}

TEST_CASE("backward: a zero gradient of the output gives zeros, and adds nothing") {
  for (const DType dtype : floating_dtypes) {
    Tensor left(dtype, {2, 3}, Values(6, 5), Layout::transposed), right(dtype, {3}, Values(3, 5));
    REQUIRE(Instance(tenon::table_of<Product>())
                .backward({nullptr, nullptr}, nullptr, nullptr, {&left, &right},
                          {Write::to, Write::add}) == "");
    CHECK(left.values() == Values(6, 0));
    CHECK(right.values() == Values(3, 5));
    CHECK(left.fenced());
  }
}

TEST_CASE("backward: an input with its own dtype has a gradient of that dtype") {
  Tensor condition(tenon::boolean, {4}, {1, 0, 0, 1}), dy(tenon::f32, {4}, {1, 2, 3, 4});
  Tensor yes(tenon::f32, {1}, {0}), no(tenon::f32, {4}, Values(4));
  const std::string failure =
      Instance(tenon::table_of<Choose>())
          .backward({&condition, nullptr, nullptr}, nullptr, &dy, {nullptr, &yes, &no},
                    {Write::none, Write::to, Write::to});
  REQUIRE(failure == "");
  CHECK(yes.values() == Values{5});
  CHECK(no.values() == Values{0, 2, 3, 0});
}

TEST_CASE("backward: integers have no gradient") {
  Tensor x(tenon::i32, {2}, {1, 2}), dx(tenon::i32, {2}, {0, 0});
  CHECK(Instance(tenon::table_of<Combine>())
            .backward({&x, &x}, nullptr, &x, {&dx, nullptr}, {Write::to, Write::none}) ==
        "int32 has no gradient");
  CHECK((tenon::table_of<Greater>()->backward == nullptr));
}
