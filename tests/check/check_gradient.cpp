#include <doctest/doctest.h>

#include <tenon/host/testing.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"

using namespace tenon;

namespace {

/// Its gradient with respect to `right` is off by `wrong`.
struct TwoResults : Operator {
  double wrong = 0;
  static constexpr void describe(auto& op) {
    op.doc("left * left * right, and left + right");
    op.types({f32, f64, f16});
    op.input("left", "any shape");
    op.input("right", "same shape");
    op.input("mask", "not read").types({i32}).optional();
    op.output("product", "same shape");
    op.output("zero", "for nobody").hidden();
    op.output("sum", "same shape");
    op.param("wrong", &TwoResults::wrong, "added to a gradient");
  }
  void infer(Infer& io) const {
    for (const int i : {0, 1, 2}) io.set_output(i, io.input(0).shape, io.input(0).dtype);
  }
  void forward(const Call& call) const {
    visit<Types{f32, f64}>(call.input_type(0).dtype, [&]<class T>() {
      const auto left = call.input<T>(0), right = call.input<T>(1);
      for (std::int64_t i = 0; i < left.size(); ++i) {
        call.output<T>(0)[i] = left[i] * left[i] * right[i];
        call.output<T>(1)[i] = 0;
        call.output<T>(2)[i] = left[i] + right[i];
      }
    });
  }
  void backward(const Call& call) const {
    visit<Types{f32, f64}>(call.input_type(0).dtype, [&]<class T>() {
      const auto left = call.input<T>(0), right = call.input<T>(1);
      for (std::int64_t i = 0; i < left.size(); ++i) {
        const T dp = call.has_output_grad(0) ? call.output_grad<T>(0)[i] : 0,
                ds = call.has_output_grad(2) ? call.output_grad<T>(2)[i] : 0;
        if (call.write(0) != Write::none)
          call.input_grad<T>(0)[i] = dp * 2 * left[i] * right[i] + ds;
        if (call.write(1) != Write::none)
          call.input_grad<T>(1)[i] =
              dp * left[i] * left[i] + ds + static_cast<T>(i == 3 ? wrong : 0);
      }
    });
  }
};

/// Absolute value with a wrong gradient: that of x, also for negative numbers.
struct WrongAbs : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the absolute value");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return abs(x);
  }
  template <class T>
  TENON_FN T gradient(T dy) const {
    return dy;
  }
};

}  // namespace

TEST_CASE("check_gradient: correct gradients of all floating-point inputs and outputs pass") {
  ApplicationHost host;
  host.add<TwoResults>();
  for (const auto dtype : {f32, f64}) {
    CAPTURE(name_of(dtype));
    const auto left = random_tensor(dtype, {2, 3}),
               right = random_tensor(dtype, {2, 3}, {.stream = 1});
    CHECK(check_gradient(host, "two_results", {left, right}));
    CHECK(check_gradient(host, "two_results", {left, right, Tensor::zeros(i32, {1})}));
    CHECK(check_gradient(host, "cosine", {left}, {{"scale", 3.0}}));
  }
  CHECK(check_gradient(host, "dropout", {random_tensor(f32, {50})}, {{"p", 0.5}},
                       {.training = true, .seed = 3}));
}

TEST_CASE("check_gradient: a wrong gradient is reported with input, output and index") {
  ApplicationHost host;
  host.add<TwoResults>();
  const auto left = random_tensor(f64, {2, 3}), right = random_tensor(f64, {2, 3}, {.stream = 1});
  const auto result = check_gradient(host, "two_results", {left, right}, {{"wrong", 0.01}});
  CHECK_FALSE(result);
  check_says(result.text, {"gradient of input 'right' for output 0 differs",
                           "1 of 6 elements differs", "at [1, 0]"});
  CHECK(check_gradient(host, "two_results", {left, right}, {{"wrong", 0.01}}, {.atol = 0.02}));
}

TEST_CASE("check_gradient: only stored elements of sparse inputs are perturbed") {
  ApplicationHost host;
  host.add<WrongAbs>();
  for (const auto storage : {Storage::dense, Storage::csr, Storage::row_sparse}) {
    CAPTURE(static_cast<int>(storage));
    const auto positive =
        random_tensor(f64, {4, 5}, {.storage = storage, .density = 0.5, .low = 0.1});
    const auto both = random_tensor(f64, {4, 5}, {.storage = storage, .density = 0.5});
    // with dense inputs, half of the elements are at the corner
    if (storage != Storage::dense) CHECK(check_gradient(host, "wrong_abs", {positive}));
    CHECK_FALSE(check_gradient(host, "wrong_abs", {both}));
    CHECK(check_gradient(host, "quadratic", {both}, {{"a", 2.0}}));
  }
}

TEST_CASE("check_gradient: rejects what it cannot check") {
  ApplicationHost host;
  host.add<TwoResults>();
  const auto x = random_tensor(f32, {2});
  const auto half = random_tensor(f16, {2});
  check_says(failure_of([&] {
               check_gradient(host, "two_results", {half, half});
             }).message,
             {"input 'left' is float16", "finite differences"});
  CHECK(failure_of([&] {
          check_gradient(host, "two_results", {x});
        }).message.find("'right' is missing") != std::string::npos);
  CHECK_FALSE(failure_of([&] { check_gradient(host, "no_such_operator", {x}); }).message.empty());
}
