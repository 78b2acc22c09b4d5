// check_operator() as an application calls it for its own classes.
#include <doctest/doctest.h>

#include <tenon/host/check.hpp>
#include <tenon/host/udf.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

/// Its gradient is off by `wrong`, which is not a parameter.
struct Tripled : Operator {
  double scale = 3, wrong = 0;
  static constexpr void describe(auto& op) {
    op.doc("scale * x");
    op.types({f32, f64});
    op.input("x", "any shape");
    op.output("y", "same shape");
    op.param("scale", &Tripled::scale, "multiplier").greater_than(0);
    op.backward_reads();
  }
  void forward(const Call& call) const {
    visit<Types{f32, f64}>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      const auto y = call.output<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i) y[i] = static_cast<T>(scale) * x[i];
    });
  }
  void backward(const Call& call) const {
    visit<Types{f32, f64}>(call.input_type(0).dtype, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      const auto dx = call.input_grad<T>(0);
      for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = static_cast<T>(scale + wrong) * dy[i];
    });
  }
};

std::vector<CheckResult> check_with(double wrong, const CheckOptions& options = {}) {
  const std::string manifest(manifest_of<Tripled>("tripled"));
  return check_operator(manifest, table_of<Tripled>(), internal::factory_of<Tripled>([wrong] {
                          Tripled object;
                          object.wrong = wrong;
                          return object;
                        }),
                        options);
}

}  // namespace

TEST_CASE(
    "check_operator: an application operator passes every applicable check, or fails the right "
    "one") {
  for (const double wrong : {0.0, 0.5}) {
    std::size_t reported = 0;
    for (const auto& result : check_with(wrong)) {
      CAPTURE(result.check);
      CAPTURE(result.sentence);
      CHECK(result.op == "tripled");
      const bool right =
          result.verdict == CheckVerdict::passed || result.verdict == CheckVerdict::skipped;
      CHECK(right == !(wrong != 0 && result.check == "gradient"));
      ++reported;
    }
    CHECK(reported == list_checks().size());
  }
}

TEST_CASE("check_operator: options for checks, calls and devices") {
  CheckOptions options;
  options.checks = {"gradient", "bounds"};
  options.calls = {{{{"scale", 2.0}}, {{"x", Shape{3}}}, {}}};
  const auto results = check_with(0, options);
  REQUIRE(results.size() == 2);
  CHECK(results[0].verdict == CheckVerdict::passed);
  REQUIRE_FALSE(results[0].calls.empty());
  CHECK(results[0].calls[0].find("scale=2") != std::string::npos);
  options.calls = {{{}, {{"z", Shape{3}}}, {}}};
  CHECK(failure_of([&] { check_with(0, options); }).kind == 2);
  options.calls.clear();
  options.device = "cuda";
  check_says(failure_of([&] { check_with(0, options); }).message,
             {"application operators have only CPU kernels", "device is cuda"});
}
