// The dtypes of version 0.2: 16-bit integers, unsigned 32 and 64-bit integers, and complex numbers.
// Oracles: std::complex, and the compiler's integers, computed as unsigned.
#include <doctest/doctest.h>

#include <complex>
#include <limits>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/visit.hpp>

#include "failure_of.hpp"
#include "strict_host.hpp"

using namespace tenon;

namespace {

constexpr Types new_integers{i16, u16, u32, u64};

template <class T>
std::vector<T> extremes() {
  using Limits = std::numeric_limits<T>;
  return {Limits::min(),
          Limits::max(),
          T(0),
          T(1),
          T(7),
          static_cast<T>(Limits::max() - 5),
          static_cast<T>(Limits::max() / 2 + 1),
          T(200)};
}

/// Converts to an unsigned integer, for arithmetic modulo 2^64.
template <class T>
std::uint64_t plain(T number) {
  return static_cast<std::uint64_t>(number);
}

template <class T>
T element(const Tensor& tensor, std::size_t i) {
  return tensor.values<T>()[i];
}

template <class T, class F>
void check_pairs(Host& host, const char* op, F expected) {
  const auto numbers = extremes<T>();
  std::vector<T> left, right;
  for (const T l : numbers)
    for (const T r : numbers) left.push_back(l), right.push_back(r);
  const Shape shape{static_cast<std::int64_t>(left.size())};
  const Tensor made = host.call(op, {Tensor::from<T>(left, shape), Tensor::from<T>(right, shape)});
  using Out = decltype(expected(T(), T()));
  REQUIRE(made.dtype() == dtype_of<Out>);
  int wrong = 0;
  for (std::size_t i = 0; i < left.size(); ++i)
    wrong += element<Out>(made, i) != expected(left[i], right[i]);
  CAPTURE(op);
  CHECK(wrong == 0);
}

using Z = std::complex<double>;

std::vector<Z> some_numbers(int count, int seed) {
  std::vector<Z> numbers;
  for (int i = 0; i < count; ++i)
    numbers.emplace_back(((i * 7 + seed * 5) % 11 - 5) / 2.0 + 0.25,
                         ((i * 3 + seed) % 7 - 3) / 4.0 - 0.125);
  return numbers;
}

template <class P>
Tensor tensor_of(const std::vector<Z>& numbers, const Shape& shape) {
  std::vector<Complex<P>> elements;
  for (const Z z : numbers)
    elements.emplace_back(static_cast<P>(z.real()), static_cast<P>(z.imag()));
  return Tensor::from<Complex<P>>(elements, shape);
}

std::vector<Z> numbers_of(const Tensor& tensor) {
  std::vector<Z> numbers;
  visit<floating + any_complex>(tensor.dtype(), [&]<class T>() {
    for (const T z : tensor.make_contiguous().values<T>()) {
      if constexpr (is_complex<T>)
        numbers.emplace_back(z.re, z.im);
      else
        numbers.emplace_back(static_cast<double>(z), 0.0);
    }
  });
  return numbers;
}

double furthest_from(const Tensor& found, const std::vector<Z>& expected) {
  const auto numbers = numbers_of(found);
  REQUIRE(numbers.size() == expected.size());
  double most = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    most = std::max(most, std::abs(numbers[i] - expected[i]) / (1 + std::abs(expected[i])));
  return most;
}

struct ComplexCase {
  const char* op;
  std::vector<Shape> shapes;
  Attributes attributes;
  std::function<std::vector<Z>(const std::vector<std::vector<Z>>&)> oracle;
};

std::vector<Z> each(const std::vector<Z>& x, Z (*f)(Z)) {
  std::vector<Z> y;
  for (const Z z : x) y.push_back(f(z));
  return y;
}

/// [2, 3] with [3] or [2, 1], or of equal sizes.
std::vector<Z> pairs(const std::vector<std::vector<Z>>& x, Z (*f)(Z, Z)) {
  std::vector<Z> y;
  for (std::size_t i = 0; i < x[0].size(); ++i)
    y.push_back(f(x[0][i], x[1].size() == 2 ? x[1][i / 3] : x[1][i % x[1].size()]));
  return y;
}

/// [m, k] times [k, n], after transposition of the operands, if any.
std::vector<Z> product(const std::vector<Z>& a, const std::vector<Z>& b, int m, int k, int n,
                       bool ta, bool tb) {
  std::vector<Z> y(static_cast<std::size_t>(m * n));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l)
        y[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(ta ? l * m + i : i * k + l)] *
            b[static_cast<std::size_t>(tb ? j * k + l : l * n + j)];
  return y;
}

const ComplexCase cases[] = {
    {"add",
     {{2, 3}, {3}},
     {},
     [](const auto& x) { return pairs(x, [](Z l, Z r) { return l + r; }); }},
    {"sub",
     {{2, 3}, {2, 1}},
     {},
     [](const auto& x) { return pairs(x, [](Z l, Z r) { return l - r; }); }},
    {"mul",
     {{2, 3}, {3}},
     {},
     [](const auto& x) { return pairs(x, [](Z l, Z r) { return l * r; }); }},
    {"mul",
     {{2, 3}, {2, 1}},
     {},
     [](const auto& x) { return pairs(x, [](Z l, Z r) { return l * r; }); }},
    {"div",
     {{2, 3}, {2, 3}},
     {},
     [](const auto& x) { return pairs(x, [](Z l, Z r) { return l / r; }); }},
    {"neg", {{5}}, {}, [](const auto& x) { return each(x[0], [](Z z) { return -z; }); }},
    {"square", {{5}}, {}, [](const auto& x) { return each(x[0], [](Z z) { return z * z; }); }},
    {"conj", {{5}}, {}, [](const auto& x) { return each(x[0], [](Z z) { return std::conj(z); }); }},
    {"real", {{5}}, {}, [](const auto& x) { return each(x[0], [](Z z) { return Z(z.real()); }); }},
    {"imag", {{5}}, {}, [](const auto& x) { return each(x[0], [](Z z) { return Z(z.imag()); }); }},
    {"abs",
     {{5}},
     {},
     [](const auto& x) { return each(x[0], [](Z z) { return Z(std::abs(z)); }); }},
    {"sum",
     {{2, 3}},
     {{"axis", std::vector<std::int64_t>{0}}},
     [](const auto& x) {
       return std::vector<Z>{x[0][0] + x[0][3], x[0][1] + x[0][4], x[0][2] + x[0][5]};
     }},
    {"sum",
     {{5}},
     {},
     [](const auto& x) { return std::vector<Z>{x[0][0] + x[0][1] + x[0][2] + x[0][3] + x[0][4]}; }},
    {"mean", {{2}}, {}, [](const auto& x) { return std::vector<Z>{(x[0][0] + x[0][1]) / 2.0}; }},
    {"matmul",
     {{2, 3}, {3, 4}},
     {},
     [](const auto& x) { return product(x[0], x[1], 2, 3, 4, false, false); }},
    {"matmul",
     {{3, 2}, {4, 3}},
     {{"transpose_a", true}, {"transpose_b", true}},
     [](const auto& x) { return product(x[0], x[1], 2, 3, 4, true, true); }},
    {"transpose",
     {{2, 3}},
     {},
     [](const auto& x) {
       return std::vector<Z>{x[0][0], x[0][3], x[0][1], x[0][4], x[0][2], x[0][5]};
     }},
    {"broadcast_to",
     {{2}},
     {{"shape", std::vector<std::int64_t>{2, 2}}},
     [](const auto& x) {
       return std::vector<Z>{x[0][0], x[0][1], x[0][0], x[0][1]};
     }},
    {"pad",
     {{2}},
     {{"before", std::vector<std::int64_t>{1}},
      {"after", std::vector<std::int64_t>{0}},
      {"mode", "edge"}},
     [](const auto& x) {
       return std::vector<Z>{x[0][0], x[0][0], x[0][1]};
     }},
    {"slice",
     {{3}},
     {{"begin", std::vector<std::int64_t>{1}}, {"end", std::vector<std::int64_t>{3}}},
     [](const auto& x) {
       return std::vector<Z>{x[0][1], x[0][2]};
     }},
    {"reshape",
     {{2, 2}},
     {{"shape", std::vector<std::int64_t>{4}}},
     [](const auto& x) { return x[0]; }},
};

/// The loss sum |y - t|^2 / 2, by operators and by the oracle.
double loss_of(const std::vector<Z>& y, const std::vector<Z>& target) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += std::norm(y[i] - target[i]);
  return sum / 2;
}

}  // namespace

TEST_CASE(
    "integers of 16, 32 and 64 bits: arithmetic wraps around, comparisons and extrema are exact") {
  StrictHost strict(2);
  Host& host = strict;
  for (const DType dtype : {i16, u16, u32, u64}) {
    CAPTURE(name_of(dtype));
    visit<new_integers>(dtype, [&]<class T>() {
      check_pairs<T>(host, "add", [](T l, T r) { return static_cast<T>(plain(l) + plain(r)); });
      check_pairs<T>(host, "sub", [](T l, T r) { return static_cast<T>(plain(l) - plain(r)); });
      check_pairs<T>(host, "mul", [](T l, T r) { return static_cast<T>(plain(l) * plain(r)); });
      check_pairs<T>(host, "maximum", [](T l, T r) { return std::max(l, r); });
      check_pairs<T>(host, "minimum", [](T l, T r) { return std::min(l, r); });
      check_pairs<T>(host, "less", [](T l, T r) { return l < r; });
      check_pairs<T>(host, "greater", [](T l, T r) { return l > r; });
      check_pairs<T>(host, "equal", [](T l, T r) { return l == r; });
      const auto numbers = extremes<T>();
      const Tensor x = Tensor::from<T>(numbers, {2, 4});
      std::uint64_t sum = 0;
      for (const T number : numbers) sum += plain(number);
      const Tensor total = host.call("sum", {x});
      if constexpr (std::is_same_v<T, std::uint64_t>)
        CHECK(total.values<std::uint64_t>()[0] == sum);
      else
        CHECK(total.values<std::int64_t>()[0] == static_cast<std::int64_t>(sum));
      CHECK(element<T>(host.call("max", {x}), 0) == std::numeric_limits<T>::max());
      CHECK(element<T>(host.call("min", {x}), 0) == std::numeric_limits<T>::min());
      CHECK(element<std::int64_t>(host.call("argmax", {x}), 0) == 1);
      const Tensor turned = host.call("transpose", {x});
      CHECK(turned.values<T>()[1] == numbers[4]);
      const auto condition = Tensor::from({true, false, true, false}, {4});
      CHECK(element<T>(host.call("where", {condition, x, Tensor::from<T>({T(3)}, {1})}), 1) ==
            T(3));
      CHECK(element<T>(host.call("where", {condition, x, Tensor::from<T>({T(3)}, {1})}), 4) ==
            numbers[4]);
    });
  }
}

TEST_CASE("cast: every dtype to every other one, except complex to real") {
  StrictHost strict(1);
  Host& host = strict;
  for (const DType from :
       {boolean, u8, i8, i32, i64, f16, bf16, f32, f64, i16, u16, u32, u64, c64, c128})
    for (const DType to :
         {boolean, u8, i8, i32, i64, f16, bf16, f32, f64, i16, u16, u32, u64, c64, c128}) {
      CAPTURE(name_of(from));
      CAPTURE(name_of(to));
      const auto x = full(from, {3}, 1);
      if (any_complex.has(from) && !any_complex.has(to)) {
        const auto failure = failure_of([&] { host.call("cast", {x}, {{"dtype", name_of(to)}}); });
        CHECK(failure.message.find(join("x is ", from, ", which ", to, " cannot hold")) !=
              std::string::npos);
        CHECK(failure.message.find("use the operators real, imag or abs") != std::string::npos);
        continue;
      }
      CHECK(same_bits(host.call("cast", {x}, {{"dtype", name_of(to)}}), full(to, {3}, 1)));
    }
  const auto large = Tensor::from<std::uint64_t>({UINT64_MAX, std::uint64_t{1} << 63, 70000}, {3});
  const auto cast = [&](const Tensor& x, const char* to) {
    return host.call("cast", {x}, {{"dtype", to}});
  };
  CHECK(cast(large, "float64").values<double>()[1] == 0x1p63);
  CHECK(cast(large, "uint16").values<std::uint16_t>()[2] == 70000 - 65536);
  CHECK(cast(Tensor::from({-1.0, 1e30, 4e9}, {3}), "uint32").values<std::uint32_t>()[1] ==
        UINT32_MAX);
  CHECK(cast(Tensor::from({-1.0, 1e30, 4e9}, {3}), "uint64").values<std::uint64_t>()[0] == 0);
  CHECK(cast(Tensor::from<std::int16_t>({-2}, {1}), "complex64").values<Complex<float>>()[0] ==
        Complex<float>(-2));
}

TEST_CASE("complex numbers: operators' results, and gradients defined as dL/d(re) + i dL/d(im)") {
  StrictHost strict(2);
  Host& host = strict;
  for (const auto& test : cases) {
    CAPTURE(test.op);
    std::vector<std::vector<Z>> x;
    for (std::size_t i = 0; i < test.shapes.size(); ++i)
      x.push_back(some_numbers(static_cast<int>(test.shapes[i].size()), static_cast<int>(i) + 1));
    const auto expected = test.oracle(x);
    std::vector<Tensor> singles, doubles;
    for (std::size_t i = 0; i < x.size(); ++i)
      singles.push_back(tensor_of<float>(x[i], test.shapes[i])),
          doubles.push_back(tensor_of<double>(x[i], test.shapes[i]));
    CHECK(furthest_from(host.call(test.op, singles, test.attributes), expected) < 2e-6);
    const auto y = host.call(test.op, doubles, test.attributes);
    CHECK(furthest_from(y, expected) < 1e-14);
    const bool is_real = std::string_view("real imag abs").find(test.op) != std::string_view::npos;
    CHECK(y.dtype() == (is_real ? f64 : c128));

    // loss = sum |y - t|^2 / 2 has dL/dy = y - t, which is the seed. Differences of the oracle give
    // the expected gradient of x.
    const auto target = some_numbers(static_cast<int>(expected.size()), 9);
    Graph graph(host);
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < x.size(); ++i)
      inputs.push_back(graph.input(join("x", i), c128, test.shapes[i]));
    const auto value = graph.add(test.op, inputs, test.attributes, "y");
    std::vector<Z> slope;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto difference = expected[i] - target[i];
      slope.push_back(y.dtype() == f64 ? Z(difference.real()) : difference);
    }
    std::vector<double> real_slope;
    for (const Z z : slope) real_slope.push_back(z.real());
    const auto seed =
        graph.constant("seed", y.dtype() == f64 ? Tensor::from<double>(real_slope, y.shape())
                                                : tensor_of<double>(slope, y.shape()));
    GradientOptions options;
    options.seed = seed;
    const auto gradients = graph.gradient(value, inputs, options);
    NamedTensors given;
    for (std::size_t i = 0; i < x.size(); ++i) {
      graph.output(join("dx", i), gradients[i]);
      given.emplace(join("x", i), doubles[i]);
    }
    const auto made = Session(graph).run(given);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto found = numbers_of(made.at(join("dx", i)));
      for (std::size_t k = 0; k < x[i].size(); ++k) {
        const auto along = [&](Z direction) {
          auto moved = x;
          moved[i][k] += 1e-6 * direction;
          const auto up = loss_of(test.oracle(moved), target);
          moved[i][k] -= 2e-6 * direction;
          return (up - loss_of(test.oracle(moved), target)) / 2e-6;
        };
        CHECK(std::abs(found[k] - Z(along(1), along(Z(0, 1)))) < 1e-6);
      }
    }
  }
}

TEST_CASE(
    "complex numbers: in a loss by operators, cast from and to real numbers, and operators that "
    "need an order") {
  StrictHost strict(1);
  Host& host = strict;
  Graph graph(host);
  const auto z = graph.input("z", c64, {2});
  const auto x = graph.input("x", f32, {2});
  const auto wide = graph.add("cast", {x}, {{"dtype", "complex64"}});
  const auto product = graph.add("mul", {z, wide});
  const auto loss = graph.add("sum", {graph.add("square", {graph.add("abs", {product})})});
  const auto gradients = graph.gradient(loss, {z, x});
  graph.output("dz", gradients[0]);
  graph.output("dx", gradients[1]);
  graph.output("loss", loss);
  const auto made = Session(graph).run(
      {{"z", tensor_of<float>({{1, -2}, {0.5, 3}}, {2})}, {"x", Tensor::from({2.f, -1.f}, {2})}});
  CHECK(made.at("loss").values<float>()[0] == doctest::Approx(4 * 5 + 9.25));  // sum x^2 |z|^2
  CHECK(furthest_from(made.at("dz"), {{8, -16}, {1, 6}}) < 1e-6);              // 2 x^2 z
  CHECK(furthest_from(made.at("dx"), {{20, 0}, {-18.5, 0}}) < 1e-6);           // 2 x |z|^2
  CHECK(failure_of([&] { graph.gradient(z, {z}); }).message.find("but a loss must be real") !=
        std::string::npos);
  const auto failure = failure_of([&] {
    host.call("less", {tensor_of<float>({{1, 2}}, {1}), tensor_of<float>({{1, 2}}, {1})});
  });
  CHECK(failure.message.find("complex64") != std::string::npos);
  CHECK(
      host.call("equal", {tensor_of<float>({{1, 2}, {3, 4}}, {2}), tensor_of<float>({{1, 2}}, {1})})
          .values<bool>()[0]);
}
