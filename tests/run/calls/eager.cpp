#include <doctest/doctest.h>

#include <cmath>
#include <tenon/host/cast_storage.hpp>
#include <tuple>
#include <vector>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"

using tenon::DType;
using tenon::Shape;
using tenon::Tensor;

TEST_CASE("eager: quadratic in every floating dtype") {
  ApplicationHost host;
  const auto x = Tensor::from({-1.0, 0.0, 2.0}, {3});
  const auto y = host.call("quadratic", {x}, {{"a", 1}, {"b", -2.5}, {"c", 0.5}});
  CHECK(same_bits(y, Tensor::from({4.0, 0.5, -0.5}, {3})));
  const auto xf = Tensor::from({-1.f, 0.f, 2.f}, {3, 1});
  CHECK(same_bits(host.call("quadratic", {xf}, {{"a", 1}, {"b", -2.5}, {"c", 0.5}}),
                  Tensor::from({4.f, .5f, -.5f}, {3, 1})));
}

TEST_CASE("eager: optional inputs, several outputs, states and hidden outputs") {
  ApplicationHost host;
  const auto data = Tensor::from({1.f, 2.f}, {1, 2}),
             weight = Tensor::from({3.f, 4.f, 5.f, 6.f}, {2, 2}),
             bias = Tensor::from({10.f, 20.f}, {2});
  CHECK(same_bits(
      host.call("fully_connected", {data, weight}, {{"num_hidden", 2}, {"no_bias", true}}),
      Tensor::from({11.f, 17.f}, {1, 2})));
  CHECK(same_bits(host.call("fully_connected", {data, weight, bias}, {{"num_hidden", 2}}),
                  Tensor::from({21.f, 37.f}, {1, 2})));

  const auto parts =
      host.call_all("halves", {Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {6})}, {{"parts", 3}});
  REQUIRE(parts.size() == 3);
  CHECK(same_bits(parts[2], Tensor::from({5.f, 6.f}, {2})));

  const auto calls = Tensor::from({41.f}, {1});
  CHECK(same_bits(host.call("counter", {data, calls}), Tensor::from({42.f, 43.f}, {1, 2})));
  CHECK(host.call_all("dropout", {data}).size() == 1);
}

TEST_CASE("eager: strided inputs are made contiguous if the operator does not accept strides") {
  ApplicationHost host;
  float numbers[] = {1, 2, 3, 4, 5, 6};
  const std::int64_t strides[] = {1, 3};
  const auto transposed = Tensor::borrow(numbers, DType::f32, {3, 2}, strides);
  const auto zeros = Tensor::zeros(DType::f32, {3, 2});
  CHECK(same_bits(host.call("test_add", {transposed, zeros}),
                  Tensor::from({1.f, 4.f, 2.f, 5.f, 3.f, 6.f}, {3, 2})));
  CHECK(same_bits(host.call("quadratic", {transposed}, {{"b", 1}}),
                  Tensor::from({1.f, 4.f, 2.f, 5.f, 3.f, 6.f}, {3, 2})));
}

TEST_CASE("eager: errors state operator, found and needed") {
  ApplicationHost host;
  const auto f2 = Tensor::zeros(DType::f32, {2}), f3 = Tensor::zeros(DType::f32, {3}),
             i2 = Tensor::zeros(DType::i32, {2});
  const auto m = Tensor::zeros(DType::f32, {8, 64}), w = Tensor::zeros(DType::f32, {10, 32});
  struct Case {
    const char* op;
    std::vector<Tensor> inputs;
    tenon::Attributes attributes;
    int kind;
    const char *message, *hint;
  };
  const Case cases[] = {
      {"quadratic", {f2}, {{"d", 1}}, 2, "[quadratic] unknown parameter 'd'", ""},
      {"cosine",
       {f2},
       {{"scael", 1}},
       2,
       "[cosine] unknown parameter 'scael'",
       "did you mean scale?"},
      {"cosine",
       {f2},
       {{"scale", -1}},
       2,
       "[cosine] parameter 'scale' is -1 but must be above 0",
       ""},
      {"cosine",
       {f2},
       {{"scale", "x"}},
       2,
       "[cosine] parameter 'scale' is \"x\" but must be a number",
       ""},
      {"cosine",
       {f2},
       {{"scale", 1e39}},
       2,
       "[cosine] parameter 'scale' is 1e+39 but must fit a 32-bit float",
       ""},
      {"cosine",
       {f2},
       {{"scale", 1}, {"scale", 2}},
       2,
       "[cosine] parameter 'scale' is given twice",
       ""},
      {"halves",
       {f2},
       {{"parts", 1.5}},
       2,
       "[halves] parameter 'parts' is 1.5 but must be an integer",
       ""},
      {"fully_connected",
       {m, w},
       {},
       2,
       "[fully_connected] parameter 'num_hidden' is required: rows of weight",
       ""},
      {"quadratic", {f2, f2}, {}, 2, "[quadratic] the operator takes 1 input but is given 2", ""},
      {"quadratic", {}, {}, 2, "[quadratic] input 'data' is missing (values of x)", ""},
      {"quadratic",
       {i2},
       {},
       1,
       "[quadratic] data is int32 but must be one of float16, bfloat16, float32, float64 (data "
       "int32 [2])",
       ""},
      {"test_add",
       {f2, f3},
       {},
       1,
       "[test_add] left is [2] but right is [3] (left float32 [2], right float32 [3])",
       ""},
      {"fully_connected",
       {m, w},
       {{"num_hidden", 10}, {"no_bias", true}},
       1,
       "[fully_connected] input 'weight' is [10, 32] but needs [10, 64] (data float32 [8, 64], "
       "weight float32 [10, 32])",
       ""},
      {"reverse",
       {Tensor::from({1.f, -1.f}, {2})},
       {},
       1,
       "[reverse] element is negative (data float32 [2])",
       ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.op);
    const auto failure = failure_of([&] { host.call(c.op, c.inputs, c.attributes); });
    CHECK(failure.message == c.message);
    CHECK(failure.kind == c.kind);
    if (*c.hint != 0) CHECK(failure.hint == c.hint);
  }
}

TEST_CASE("eager: states are dense") {
  ApplicationHost host;
  const auto data = Tensor::from({1.f}, {1}),
             calls = cast_storage(data, tenon::Storage::row_sparse);
  const auto failure = failure_of([&] { host.call("counter", {data, calls}); });
  check_says(failure.message, {"[counter] state 'calls' is row_sparse", "must be dense"});
  CHECK(failure.hint == "convert it with cast_storage(tensor, Storage::dense)");
}

TEST_CASE("eager: infer() reads the elements of strided inputs") {
  ApplicationHost host;
  host.add<probes::ReshapeTo>("reshaped");
  const auto x = Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {6});
  std::int64_t sizes[] = {2, 9, 3, 9, 1};
  for (const auto& [shape, strides, first] : {std::tuple{Shape{2}, std::vector<std::int64_t>{2}, 0},
                                              {Shape{2}, {-2}, 2},
                                              {{3}, {2}, 0}}) {
    const auto strided = Tensor::borrow(sizes + first, DType::i64, shape, strides, nullptr);
    const auto y = host.call("reshaped", {x, strided});
    CHECK(same_bits(y, host.call("reshaped", {x, strided.clone()})));
    CHECK(y.shape().rank() == shape[0]);
    CHECK(y.shape()[0] == sizes[first]);
  }
}

TEST_CASE("eager: calls in training mode are prepared apart from others") {
  ApplicationHost host;
  const auto x = vector_of({5});
  for (int i = 0; i < 2; ++i) {
    CHECK(same_bits(host.call_all("counter", {x}, {}, true)[0], vector_of({6})));
    CHECK(same_bits(host.call_all("counter", {x}, {}, false)[0], x));
  }
  const auto calls = vector_of({2});
  CHECK(same_bits(host.call_all("counter", {x, calls}, {}, true)[0], vector_of({8})));
  CHECK(same_bits(calls, vector_of({3})));
}

TEST_CASE("eager: an unknown operator suggests similar names") {
  ApplicationHost host;
  const auto failure =
      failure_of([&] { host.call("quadratik", {Tensor::zeros(DType::f32, {1})}); });
  CHECK(failure.kind == 3);
  CHECK(failure.message.find("quadratik") != std::string::npos);
  CHECK((failure.message + failure.hint).find("quadratic") != std::string::npos);
}
