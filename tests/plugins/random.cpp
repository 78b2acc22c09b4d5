// Oracles: the distributions' moments and distribution functions, with bounds of six standard
// errors.
#include <algorithm>

#include "built.hpp"
#include "numbers.hpp"

using namespace plugin_tests;

namespace {
constexpr std::int64_t count = 200001;

/// The Kolmogorov-Smirnov distance between the empirical and the exact distribution function.
template <class Cdf>
double distance(Doubles values, Cdf cdf) {
  std::sort(values.begin(), values.end());
  double worst = 0;
  const auto n = static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    // equal values (frequent in half precision) count together
    const auto last = static_cast<std::size_t>(
        std::upper_bound(values.begin(), values.end(), values[i]) - values.begin());
    worst = std::max(worst, std::abs(static_cast<double>(last) / n - cdf(values[i])));
  }
  return worst;
}

}  // namespace

TEST_CASE("uniform numbers fill their range evenly and never reach its end") {
  for (const DType dtype : floating_dtypes)
    for (const auto& range : {std::pair{0.0, 1.0}, std::pair{-3.0, 5.0}, std::pair{2.0, 2.5}}) {
      const auto low = range.first, high = range.second;
      INFO(name(dtype), " from ", low, " to ", high);
      const auto y = host().call("uniform", {},
                                 {{"shape", Integers{3, count / 3}},
                                  {"dtype", name(dtype)},
                                  {"low", low},
                                  {"high", high}});
      CHECK(tenon::to_string(y.shape()) == "[3, 66667]");
      CHECK(y.dtype() == dtype);
      const auto values = doubles(y);
      CHECK(*std::min_element(values.begin(), values.end()) >= low);
      CHECK(*std::max_element(values.begin(), values.end()) < high);
      const double step = 2 * epsilon(dtype) * 8;  // error of rounding to the dtype
      CHECK(distance(values, [&](double x) { return (x - low) / (high - low); }) <
            3 / std::sqrt(count) + step);
    }
}

TEST_CASE("normal numbers have the requested mean, deviation and distribution") {
  for (const DType dtype : floating_dtypes) {
    INFO(name(dtype));
    const auto values = doubles(
        host().call("normal", {},
                    {{"shape", Integers{count}}, {"dtype", name(dtype)}, {"mean", 2}, {"sd", 3}}));
    REQUIRE(values.size() == count);
    double square = 0;
    for (const double value : values) square += (value - 2) * (value - 2);
    CHECK(std::abs(mean_of(values) - 2) < 6 * 3 / std::sqrt(count) + epsilon(dtype));
    CHECK(std::abs(std::sqrt(square / count) / 3 - 1) <
          6 / std::sqrt(2.0 * count) + epsilon(dtype));
    CHECK(distance(values, [](double x) {
            return 0.5 * std::erfc((2 - x) / (3 * std::sqrt(2.0)));
          }) < 3 / std::sqrt(count) + 8 * epsilon(dtype));
  }
  check_near(host().call("normal", {}, {{"shape", Integers{3}}, {"mean", 7}, {"sd", 0}}),
             tenon::f32, {3}, {7, 7, 7}, 0);
}

TEST_CASE("adjacent random numbers are independent") {
  for (const char* op : {"uniform", "normal"})
    for (const DType dtype : {tenon::f32, tenon::f64})
      for (const std::size_t lag : {1, 2, 4}) {
        INFO(op, " ", name(dtype), " ", lag, " apart");
        const auto values =
            doubles(host().call(op, {}, {{"shape", Integers{count}}, {"dtype", name(dtype)}}));
        const double mean = mean_of(values);
        double square = 0, product = 0;
        for (std::size_t i = lag; i < values.size(); ++i) {
          square += (values[i] - mean) * (values[i] - mean);
          product += (values[i] - mean) * (values[i - lag] - mean);
        }
        CHECK(std::abs(product / square) < 6 / std::sqrt(count));
      }
}

TEST_CASE("the same seed gives the same numbers on one thread and on four") {
  const auto with = [](int threads, std::uint64_t seed) {
    tenon::HostOptions options;
    options.threads = threads;
    options.seed = seed;
    options.trust_writable = true;
    options.search_defaults = false;
    tenon::Host host(options);
    host.add_plugins(built("plugins"));
    return host.call("normal", {}, {{"shape", Integers{count}}});
  };
  CHECK(same_bits(with(1, 7), with(4, 7)));
  CHECK_FALSE(same_bits(with(1, 7), with(1, 8)));
}

TEST_CASE("random tensors of any shape, including empty ones") {
  for (const char* op : {"uniform", "normal"}) {
    CHECK(tenon::to_string(host().call(op, {}, {{"shape", Integers{}}}).shape()) == "[]");
    CHECK(tenon::to_string(host().call(op, {}, {{"shape", Integers{2, 0, 3}}}).shape()) ==
          "[2, 0, 3]");
    for (std::int64_t size = 1; size < 10; ++size)
      CHECK(host().call(op, {}, {{"shape", Integers{size}}}).size() == size);
  }
}

TEST_CASE("random operators refuse invalid arguments with the reason") {
  struct Row {
    std::string op;
    Attributes attributes;
    std::vector<std::string> words;
  };
  const Row rows[] = {
      {"uniform", {}, {"shape"}},
      {"uniform", {{"shape", Integers{-1}}}, {"shape", "-1"}},
      {"uniform", {{"shape", Integers{INT64_MAX, INT64_MAX}}}, {"shape"}},
      {"uniform", {{"shape", Integers{2}}, {"low", 1}, {"high", 1}}, {"high", "1", "low"}},
      {"uniform", {{"shape", Integers{2}}, {"low", 0}, {"high", 1e300}}, {"high", "1e+300"}},
      {"uniform",
       {{"shape", Integers{2}}, {"dtype", "float16"}, {"low", -70000}},
       {"low", "-70000"}},
      {"uniform", {{"shape", Integers{2}}, {"dtype", "int32"}}, {"dtype", "int32"}},
      {"normal", {{"shape", Integers{2}}, {"sd", -1}}, {"sd", "-1"}},
      {"normal", {{"shape", Integers(9, 1)}}, {"shape", "9"}},
  };
  for (const auto& row : rows) {
    INFO(row.op);
    check_says(failure(row.op, {}, row.attributes), row.words);
  }
}
