#include <doctest/doctest.h>

#include <functional>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/udf.hpp>
#include <thread>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"
#include "run/vectors.hpp"

using tenon::Argument;
using tenon::f32;
using tenon::PreparedCall;
using tenon::Shape;
using tenon::Tensor;

namespace {

PreparedCall add_of(tenon::Host& host, const Shape& shape) {
  return host.prepare("test_add", {{.dtype = f32, .shape = shape}, {.dtype = f32, .shape = shape}});
}

/// Returns |x| and a hidden output, the sign of the input.
struct Absolute : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("the absolute value");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.output("sign", "1 or -1").hidden();
    op.backward_reads("sign");
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      call.output<float>(1)[i] = x[i] < 0 ? -1.f : 1.f;
      call.output<float>(0)[i] = x[i] < 0 ? -x[i] : x[i];
    }
  }
  void backward(const tenon::Call& call) const {
    const auto dy = call.output_grad<float>(0), sign = call.output_value<float>(1);
    auto dx = call.input_grad<float>(0);
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = dy[i] * sign[i];
  }
};

/// A complex product whose backward reads the factor but not the number.
struct Weighted : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("z * factor");
    op.types({tenon::c64});
    op.input("z", "any shape");
    op.input("factor", "one number");
    op.output("y", "same shape as z");
    op.backward_reads("factor");
  }
  void forward(const tenon::Call& call) const {
    const auto z = call.input<tenon::Complex<float>>(0),
               factor = call.input<tenon::Complex<float>>(1);
    for (std::int64_t i = 0; i < z.size(); ++i)
      call.output<tenon::Complex<float>>(0)[i] = z[i] * factor[0];
  }
  void backward(const tenon::Call& call) const {
    const auto dy = call.output_grad<tenon::Complex<float>>(0),
               factor = call.input<tenon::Complex<float>>(1);
    auto dz = call.input_grad<tenon::Complex<float>>(0);
    for (std::int64_t i = 0; i < dz.size(); ++i) dz[i] = dy[i] * conj(factor[0]);
  }
};

/// A parameter sets the number of outputs, 0 by default.
struct Some : tenon::Operator {
  std::int64_t count = 0;
  static constexpr void describe(auto& op) {
    op.doc("nothing");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x").count(&Some::count);
    op.param("count", &Some::count, "number of outputs");
  }
  void forward(const tenon::Call&) const {}
};

}  // namespace

TEST_CASE("prepared call: without an output it has no result to return") {
  ApplicationHost host;
  host.add<Some>();
  auto call = host.prepare("some", {{.dtype = f32, .shape = {1}}});
  const std::vector<Tensor> inputs = {Tensor::from({1.f}, {1})};
  CHECK(failure_of([&] { call(inputs); }).message == "[some] has no output with these parameters");
}

TEST_CASE("prepared call: describes its arguments, and computes like an eager call") {
  ApplicationHost host;
  auto call = host.prepare(
      "fully_connected",
      {{.dtype = f32, .shape = {2, 3}}, {.dtype = f32, .shape = {4, 3}}, {.present = false}},
      {{"num_hidden", 4}, {"no_bias", true}});
  REQUIRE(call.inputs().size() == 3);
  CHECK(call.inputs()[1].name == "weight");
  CHECK_FALSE(call.inputs()[2].present);
  REQUIRE(call.outputs().size() == 1);
  CHECK(call.outputs()[0].shape == Shape{2, 4});
  const std::vector<Tensor> inputs{
      Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3}),
      Tensor::from({1.f, 0.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f, 1.f, 1.f, 1.f, 1.f}, {4, 3}), Tensor()};
  CHECK(same_bits(call(inputs), Tensor::from({1.f, 2.f, 3.f, 6.f, 4.f, 5.f, 6.f, 15.f}, {2, 4})));
  CHECK(same_bits(call(inputs),
                  host.call("fully_connected", inputs, {{"num_hidden", 4}, {"no_bias", true}})));
}

TEST_CASE("prepared call: results in new memory, or in the caller's") {
  ApplicationHost host;
  auto add = add_of(host, {2});
  const std::vector<Tensor> inputs{vector_of({1, 2}), vector_of({10, 20})};
  const auto one = add(inputs), other = add(inputs);
  CHECK(one.data() != other.data());
  Tensor place = vector_of({0, 0});
  add.forward(inputs, {&place, 1});
  CHECK(same_bits(place, vector_of({11, 22})));
  const auto column = Tensor::borrow(inputs[1].data(), f32, {2}, std::vector<std::int64_t>{0});
  CHECK(same_bits(add(std::vector{inputs[0], column}), vector_of({11, 12})));
}

TEST_CASE("prepared call: hidden outputs, and backward from them") {
  ApplicationHost host;
  host.add<Absolute>();
  auto call = host.prepare("absolute", {Argument::like(vector_of({1, 2}))});
  REQUIRE(call.outputs().size() == 2);
  CHECK(call.outputs()[1].hidden);
  const std::vector<Tensor> x{vector_of({-3, 4})};
  std::vector<Tensor> made(2);
  call.forward(x, made);
  CHECK(same_bits(made[0], vector_of({3, 4})));
  REQUIRE(call.has_backward());
  const auto grads = call.backward(std::vector{vector_of({10, 100}), Tensor()}, x, made);
  REQUIRE(grads.size() == 1);
  CHECK(same_bits(grads[0], vector_of({-10, 100})));
  CHECK_FALSE(call.backward(std::vector{vector_of({1, 1}), Tensor()}, x, made, {}, {false})[0]);
  CHECK(same_bits(call(x), vector_of({3, 4})));
  CHECK_FALSE(add_of(host, {1}).has_backward());
  const std::vector<Tensor> two{vector_of({1}), vector_of({1})}, one{vector_of({1})};
  CHECK(failure_of([&] {
          add_of(host, {1}).backward(one, two, one);
        }).message.find("has no backward kernel") != std::string::npos);
}

TEST_CASE("prepared call: backward of complex numbers, without inputs that it does not read") {
  using C = tenon::Complex<float>;
  ApplicationHost host;
  const auto name = host.add<Weighted>();
  auto call = host.prepare(
      name, {{.dtype = tenon::c64, .shape = {2}}, {.dtype = tenon::c64, .shape = {1}}});
  const auto factor = Tensor::from<C>({C{0, 2}}, {1}),
             dy = Tensor::from<C>({C{1, 0}, C{0, 3}}, {2});
  const auto grads = call.backward(std::vector{dy}, std::vector{Tensor(), factor},
                                   std::vector{Tensor()}, {}, {true, false});
  REQUIRE(grads[0]);
  const auto dz = grads[0].values<C>();
  CHECK((dz[0].re == 0 && dz[0].im == -2));
  CHECK((dz[1].re == 6 && dz[1].im == 0));
  CHECK_FALSE(grads[1]);
  const auto z = Tensor::from<C>({C{1, 0}, C{0, 1}}, {2});
  CHECK(failure_of([&] {
          call.backward(std::vector{dy}, std::vector{z, Tensor()}, std::vector{Tensor()});
        }).message.find("input 'factor' is missing") != std::string::npos);
}

TEST_CASE("prepared call: states are new for each call, or the caller's") {
  ApplicationHost host;
  auto call = host.prepare("counter", {{.dtype = f32, .shape = {1}}}, {}, {.training = true});
  REQUIRE(call.states().size() == 1);
  CHECK(call.states()[0].shape == Shape{1});
  const std::vector<Tensor> x{vector_of({5})};
  CHECK(first_of(call(x)) == 6);
  CHECK(first_of(call(x)) == 6);
  const auto states = call.make_states();
  Tensor y;
  for (int i = 1; i < 4; ++i) {
    y = Tensor();
    call.forward(x, {&y, 1}, states);
    CHECK(first_of(y) == static_cast<float>(5 + i));
  }
  CHECK(first_of(states[0]) == 3);
}

TEST_CASE("prepared call: read-only tensors are read but not written") {
  ApplicationHost host;
  const float numbers[] = {5, 6};
  const auto fixed = [&](std::int64_t count) {
    return Tensor::borrow_read_only(numbers, f32, {count});
  };
  auto add = add_of(host, {2});
  const std::vector<Tensor> both{fixed(2), fixed(2)};
  CHECK(same_bits(add(both), vector_of({10, 12})));
  Tensor place = fixed(2);
  check_says(failure_of([&] {
               add.forward(both, {&place, 1});
             }).message,
             {"[test_add] the memory for 'sum' is read-only", "writes to it"});
  auto counter = host.prepare("counter", {{.dtype = f32, .shape = {1}}}, {}, {.training = true});
  const std::vector<Tensor> x{fixed(1)}, states{fixed(1)};
  Tensor y;
  const std::string refusal = "[counter] state 'calls' is read-only, but the call writes to it";
  CHECK(failure_of([&] { counter.forward(x, {&y, 1}, states); }).message == refusal);
  CHECK(failure_of([&] { host.call("counter", {x[0], states[0]}); }).message == refusal);
  CHECK(numbers[0] == 5);
  counter.forward(x, {&y, 1}, std::vector{states[0].clone()});
  CHECK(first_of(y) == 11);
}

TEST_CASE("prepared call: sparse inputs are made dense if the operator has no kernel for them") {
  std::vector<std::string> notes;
  ApplicationHost host(ApplicationHost::options(1, notes));
  const auto sparse = cast_storage(Tensor::from({0.f, 2.f, 0.f, 0.f}, {2, 2}), tenon::Storage::csr);
  const auto dense = Tensor::from({1.f, 1.f, 1.f, 1.f}, {2, 2});
  auto add = host.prepare("test_add", {Argument::like(sparse), Argument::like(dense)});
  for (int i = 0; i < 2; ++i)
    CHECK(same_bits(add(std::vector{sparse, dense}), Tensor::from({1.f, 3.f, 1.f, 1.f}, {2, 2})));
  CHECK(notes.size() == 1);
  auto square = host.prepare("quadratic", {Argument::like(sparse)}, {{"a", 1.0}});
  const auto y = square(std::vector{sparse});
  CHECK(y.storage() == tenon::Storage::csr);
  CHECK(same_bits(cast_storage(y, tenon::Storage::dense),
                  Tensor::from({0.f, 4.f, 0.f, 0.f}, {2, 2})));
  CHECK(same_bits(square(std::vector{sparse}), y));  // the first result is not overwritten
}

TEST_CASE("prepared call: wrong arguments are refused, and the call remains usable") {
  ApplicationHost host;
  auto add = add_of(host, {2});
  const auto x = vector_of({1, 2});
  Tensor small = vector_of({0}), made;
  struct Row {
    std::function<void()> use;
    const char* words;
  };
  const Row rows[] = {
      {[&] { add(std::vector{x}); }, "the call was prepared for 2 inputs but got 1"},
      {[&] {
         add(std::vector{x, vector_of({1})});
       },
       "'right' is float32 [1] but the call was prepared for float32 [2]"},
      {[&] {
         add(std::vector{x, Tensor::zeros(tenon::f64, {2})});
       },
       "'right' is float64 [2]"},
      {[&] {
         add(std::vector{x, Tensor()});
       },
       "input 'right' is missing"},
      {[&] {
         add.forward(std::vector{x, x}, {&small, 1});
       },
       "the memory for 'sum' is float32 [1]"},
      {[&] {
         add.forward(std::vector{x, x}, {});
       },
       "the call has 1 output but got memory for 0"},
      {[&] {
         add.forward(std::vector{x, x}, {&made, 1}, std::vector{x});
       },
       "the operator has 0 states but got 1"},
      {[&] {
         host.prepare("test_add", {{.dtype = f32, .shape = {-1}}, {.dtype = f32, .shape = {2}}});
       },
       "its shape must be fully known"},
      {[&] { host.prepare("test_add", {{.dtype = f32, .shape = {2}}}); },
       "input 'right' is missing"},
      {[&] {
         host.prepare("test_add", {{.dtype = f32, .shape = {2}}, {.dtype = f32, .shape = {3}}});
       },
       "left is [2] but right is [3]"},
      {[&] { host.prepare("test_add", {}, {}, {.device = "moon"}); }, "moon"},
  };
  for (const auto& row : rows) {
    const auto failure = failure_of(row.use);
    CHECK(failure.kind != 0);
    INFO(failure.message);
    CHECK(failure.message.find(row.words) != std::string::npos);
  }
  CHECK(same_bits(add(std::vector{x, x}), vector_of({2, 4})));
}

TEST_CASE("prepared call: outlives its host, and refuses a second thread") {
  auto host = std::make_unique<ApplicationHost>();
  host->add<probes::Copy>("waits");
  auto add = add_of(*host, {1});
  auto waits = host->prepare("waits", {{.dtype = f32, .shape = {1}}});
  host.reset();
  CHECK(first_of(add(std::vector{vector_of({1}), vector_of({2})})) == 3);
  const auto call_again = [&] {
    const auto failure = failure_of([&] { waits(std::vector{vector_of({1})}); });
    CHECK(failure.kind == 2);
    CHECK(failure.message == "[waits] the prepared call is in use by another thread");
  };
  probes::Copy::hold([&] { waits(std::vector{vector_of({1})}); }, call_again);
  CHECK(first_of(waits(std::vector{vector_of({7})})) == 7);
}

TEST_CASE("eager calls: cached calls are distinguished by parameters, types and later additions") {
  ApplicationHost host;
  const auto call = [&](double a, const Tensor& x) {
    return host.call("quadratic", {x}, {{"a", a}});
  };
  for (int i = 0; i < 3; ++i) {
    CHECK(first_of(call(1, vector_of({3}))) == 9);
    CHECK(first_of(call(2, vector_of({3}))) == 18);
    CHECK(call(2, vector_of({3, 1})).size() == 2);
    CHECK(call(1, Tensor::zeros(tenon::f64, {1})).dtype() == tenon::f64);
    CHECK(first_of(host.call("counter", {vector_of({1})})) == 1);
  }
  CHECK(failure_of([&] {
          host.call("quadratic", {vector_of({1})}, {{"z", 1.0}});
        }).message.find("[quadratic]") == 0);
  CHECK(failure_of([&] {
          host.call("reverse", {vector_of({-1})});
        }).message.find("element is negative") != std::string::npos);
  CHECK(first_of(host.call("reverse", {vector_of({1})})) == 1);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i)
        if (first_of(call(t, vector_of({2}))) == static_cast<float>(4 * t)) ++right;
    });
  for (auto& thread : threads) thread.join();
  CHECK(right == 800);
}
