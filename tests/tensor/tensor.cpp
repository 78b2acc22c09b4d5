#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <tenon/host/tensor.hpp>

#include "failure_of.hpp"

using namespace tenon;
using Ints64 = std::vector<std::int64_t>;

TEST_CASE("tensor: an owned tensor is aligned, contiguous and has the right size") {
  const struct {
    DType dtype;
    Shape shape;
    std::int64_t size, bytes;
    Ints64 strides;
  } cases[] = {
      {f32, {2, 3, 4}, 24, 96, {12, 4, 1}},
      {f64, Shape::scalar(), 1, 8, {}},
      {boolean, {5}, 5, 5, {1}},
      {i8, {3, 0, 2}, 0, 0, {0, 2, 1}},
      {bf16, {1, 7}, 7, 14, {7, 1}},
      {i64, {0, std::int64_t{1} << 62, std::int64_t{1} << 62}, 0, 0, {0, std::int64_t{1} << 62, 1}},
      {u8, {4096, 4096}, 1 << 24, 1 << 24, {4096, 1}},
      {f16, {1, 1, 1, 1, 1, 1, 1, 2}, 2, 4, {2, 2, 2, 2, 2, 2, 2, 1}},
  };
  for (const auto& test : cases) {
    CAPTURE(to_string(test.shape));
    for (const Tensor& tensor :
         {Tensor::empty(test.dtype, test.shape), Tensor::zeros(test.dtype, test.shape)}) {
      CHECK(tensor);
      CHECK(tensor.dtype() == test.dtype);
      CHECK(tensor.shape() == test.shape);
      CHECK(tensor.size() == test.size);
      CHECK(tensor.bytes() == test.bytes);
      CHECK(tensor.strides() == test.strides);
      CHECK(tensor.contiguous());
      CHECK(tensor.data() != nullptr);
      CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64 == 0);
    }
  }
  const Tensor zeros = Tensor::zeros(i32, {1000});
  for (const std::int32_t value : zeros.values<std::int32_t>()) REQUIRE(value == 0);
}

TEST_CASE("tensor: copies share the elements, clones do not") {
  const Tensor tensor = Tensor::from({1, 2, 3, 4}, {2, 2});
  const Tensor copy = tensor, clone = tensor.clone();
  tensor.data<std::int32_t>()[3] = 40;
  CHECK(copy.to_string() == "int32 [2, 2]  1 2 3 40");
  CHECK(clone.to_string() == "int32 [2, 2]  1 2 3 4");
  CHECK(tensor.make_contiguous().data() == tensor.data());
}

TEST_CASE("tensor: a borrowed tensor keeps its owner alive") {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6});
  const std::weak_ptr<std::vector<float>> watched = owner;
  const Ints64 strides = {1, 2};
  Tensor tensor = Tensor::borrow(owner->data(), f32, {2, 3}, strides, owner);
  owner.reset();
  CHECK_FALSE(watched.expired());
  CHECK(tensor.strides() == strides);
  CHECK_FALSE(tensor.contiguous());
  CHECK(tensor.to_string() == "float32 [2, 3]  1 3 5 2 4 6");
  Tensor row = tensor.make_contiguous();
  CHECK(row.to_string() == tensor.to_string());
  Tensor reshaped =
      Tensor::borrow(watched.lock()->data(), f32, {6}, {}, watched.lock()).reshape({3, 2});
  tensor = {};
  CHECK_FALSE(watched.expired());
  reshaped = {};
  CHECK(watched.expired());
}

TEST_CASE("tensor: strides of axes of size 1 are ignored") {
  float value[3] = {1, 2, 3};
  const Ints64 strides = {1000, 1, -77};
  CHECK(Tensor::borrow(value, f32, {1, 3, 1}, strides).contiguous());
  const Ints64 wild = {std::numeric_limits<std::int64_t>::min(), 1};
  CHECK(Tensor::borrow(value, f32, {1, 3}, wild).contiguous());
  CHECK(Tensor::borrow(nullptr, f32, {0, 3}, wild).clone().size() == 0);
  const Ints64 wild_and_strided = {std::numeric_limits<std::int64_t>::min(), 2};
  CHECK(Tensor::borrow(value, f32, {1, 2}, wild_and_strided).clone().to_string() ==
        "float32 [1, 2]  1 3");
}

TEST_CASE("tensor: reshape shares the elements and infers one dimension") {
  const Tensor tensor = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
  const struct {
    Shape expected;
    const char* result;
  } cases[] = {
      {{6}, "int32 [6]  1 2 3 4 5 6"},        {{3, -1}, "int32 [3, 2]  1 2 3 4 5 6"},
      {{-1}, "int32 [6]  1 2 3 4 5 6"},       {{1, 6, 1}, "int32 [1, 6, 1]  1 2 3 4 5 6"},
      {{-1, 6}, "int32 [1, 6]  1 2 3 4 5 6"},
  };
  for (const auto& test : cases) {
    const Tensor reshaped = tensor.reshape(test.expected);
    CHECK(reshaped.to_string() == test.result);
    CHECK(reshaped.data() == tensor.data());
  }
  CHECK(Tensor::from({7}, {1}).reshape(Shape::scalar()).to_string() == "int32 []  7");
  CHECK(Tensor::zeros(f32, {0, 4}).reshape({4, 0}).shape() == Shape{4, 0});

  Tensor last = tensor.reshape({3, 2});
  for (int i = 0; i < 1000; ++i) last = last.reshape({2, 3}).reshape({6});
  CHECK(same_bits(last, tensor.reshape({6})));
}

TEST_CASE("tensor: text of the elements") {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const struct {
    Tensor tensor;
    std::int64_t limit;
    const char* text;
  } cases[] = {
      {Tensor(), 16, "empty"},
      {Tensor::from({1.0f, 0.1f, -0.0f, 1e30f, inf, nan}, {6}), 16,
       "float32 [6]  1 0.1 -0 1e+30 inf nan"},
      {Tensor::from({1.0, 2.5, 3.0, 4.0}, {2, 2}), 3, "float64 [2, 2]  1 2.5 3 ..."},
      {Tensor::from({1.0, 2.5}, {2}), 0, "float64 [2]  ..."},
      {Tensor::from({1.0, 2.5}, {2}), -5, "float64 [2]  ..."},
      {Tensor::from({true, false}, {2}), 16, "bool [2]  true false"},
      {Tensor::from<std::uint8_t>({65, 255}, {2}), 16, "uint8 [2]  65 255"},
      {Tensor::from<std::int8_t>({-128, 127}, {2}), 16, "int8 [2]  -128 127"},
      {Tensor::from<std::int64_t>({INT64_MIN}, Shape::scalar()), 16,
       "int64 []  -9223372036854775808"},
      {Tensor::from<half>({half(0.5f), half(65504.0f)}, {2}), 16, "float16 [2]  0.5 65504"},
      {Tensor::from<bfloat16>({bfloat16(-1.5f)}, {1}), 16, "bfloat16 [1]  -1.5"},
      {Tensor::zeros(f32, {0, 3}), 16, "float32 [0, 3]"},
  };
  for (const auto& test : cases) CHECK(test.tensor.to_string(test.limit) == test.text);
}

TEST_CASE("tensor: same_bits() compares dtype, shape and every bit") {
  const Tensor base = Tensor::from({1.0f, 0.0f}, {2});
  float reversed[2] = {0.0f, 1.0f};
  const Ints64 back = {-1};
  const struct {
    Tensor other;
    bool same;
  } cases[] = {
      {base.clone(), true},
      {Tensor::borrow(reversed + 1, f32, {2}, back), true},
      {Tensor::from({1.0f, -0.0f}, {2}), false},
      {Tensor::from({1.0f, 0.0f}, {1, 2}), false},
      {Tensor::from({0x3f800000, 0}, {2}), false},
      {Tensor(), false},
  };
  for (const auto& test : cases) {
    CAPTURE(test.other.to_string());
    CHECK(same_bits(base, test.other) == test.same);
    CHECK(same_bits(test.other, base) == test.same);
  }
  CHECK(same_bits(Tensor(), Tensor()));
  CHECK(same_bits(Tensor::zeros(f32, {0}), Tensor::zeros(f32, {0})));
  const Tensor nan = Tensor::from({std::nanf("")}, {1});
  CHECK(same_bits(nan, nan.clone()));
}

TEST_CASE("tensor: each error is one sentence") {
  constexpr std::int64_t large = std::int64_t{1} << 40;
  float values[4] = {};
  const Ints64 one = {1}, huge = {INT64_MAX, 1}, strided = {1, 2};
  const Tensor transposed = Tensor::borrow(values, f32, {2, 2}, strided);
  auto* const odd = reinterpret_cast<std::byte*>(values) + 1;
  const struct {
    std::function<void()> call;
    int kind;
    const char* message;
  } cases[] = {
      {[] { Tensor().dtype(); }, 2, "this tensor is empty: it has no dtype, shape or elements"},
      {[] { Tensor().data(); }, 2, "this tensor is empty: it has no dtype, shape or elements"},
      {[] { Tensor().clone(); }, 2, "this tensor is empty: it has no dtype, shape or elements"},
      {[] { Tensor().to_dlpack(); }, 2, "this tensor is empty: it has no dtype, shape or elements"},
      {[] {
         Tensor::empty(f32, {2, -1});
       },
       2, "a tensor needs a known shape, not [2, ?]"},
      {[] { Tensor::empty(f32, {}); }, 2, "a tensor needs a known shape, not [...]"},
      {[] { Tensor::empty(unknown_dtype, {2}); }, 2, "a tensor needs a known dtype"},
      {[] {
         Tensor::empty(f32, {large, large});
       },
       2, "a tensor of float32 [1099511627776, 1099511627776] has more bytes than can be counted"},
      {[] { Tensor::empty(f64, {INT64_MAX}); }, 2,
       "a tensor of float64 [9223372036854775807] has more bytes than can be counted"},
      {[] { Tensor::empty(u8, {INT64_MAX}); }, 1, "cannot allocate 7.9 EiB: out of memory"},
      {[] {
         Tensor::zeros(f32, {large, 1 << 10});
       },
       1, "cannot allocate 4.0 PiB: out of memory"},
      {[] {
         Tensor::from({1, 2, 3}, {2, 2});
       },
       2, "a tensor of shape [2, 2] needs 4 values, not 3"},
      {[] { Tensor::from({1}, {1}).data<float>(); }, 2,
       "this tensor's elements are int32, not float32"},
      {[&] { transposed.values<float>(); }, 2, "this tensor [2, 2] is not contiguous"},
      {[&] { transposed.reshape({4}); }, 2, "this tensor [2, 2] is not contiguous"},
      {[] {
         Tensor::zeros(f32, {2, 3}).reshape({4});
       },
       2, "a tensor of shape [2, 3], 6 elements, cannot be reshaped to [4]"},
      {[] {
         Tensor::zeros(f32, {2, 3}).reshape({4, -1});
       },
       2, "a tensor of shape [2, 3], 6 elements, cannot be reshaped to [4, ?]"},
      {[] {
         Tensor::zeros(f32, {2, 3}).reshape({-1, -1});
       },
       2, "a tensor of shape [2, 3], 6 elements, cannot be reshaped to [?, ?]"},
      {[] {
         Tensor::zeros(f32, {0}).reshape({0, -1});
       },
       2, "a tensor of shape [0], 0 elements, cannot be reshaped to [0, ?]"},
      {[] { Tensor::zeros(f32, {2}).reshape({}); }, 2,
       "a tensor of shape [2], 2 elements, cannot be reshaped to [...]"},
      {[] {
         Tensor::zeros(f32, {0}).reshape({large, large, -1});
       },
       2,
       "a tensor of shape [0], 0 elements, cannot be reshaped to [1099511627776, 1099511627776, "
       "?]"},
      {[] { Tensor::borrow(nullptr, f32, {2}); }, 2,
       "a tensor of float32 [2] needs memory, not a null pointer"},
      {[&] { Tensor::borrow(odd, f32, {2}); }, 2, "float32 elements must be aligned to 4 bytes"},
      {[&] {
         Tensor::borrow(values, f32, {2, 2}, one);
       },
       2, "a tensor of shape [2, 2] needs 2 strides, not 1"},
      {[&] {
         Tensor::borrow(values, f32, {2, 2}, huge);
       },
       2, "the strides of a tensor of float32 [2, 2] are too large"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.message);
    const FailureText failure = failure_of(test.call);
    CHECK(failure.kind == test.kind);
    CHECK(failure.message == test.message);
  }
}

TEST_CASE("tensor: reports its device and refuses unknown ones") {
  const Tensor tensor = Tensor::from({1.f, 2.f}, {2});
  CHECK(tensor.device() == "cpu");
  CHECK(tensor.to("cpu").data() == tensor.data());
  CHECK(Tensor::empty(f32, {2}, "cpu").device() == "cpu");
  CHECK(failure_of([&] {
          tensor.to("abacus");
        }).message.starts_with("there is no device 'abacus': this machine has cpu"));
  CHECK(failure_of([] { Tensor::empty(f32, {2}, "abacus"); }).kind == 2);
  CHECK(failure_of([] { Tensor().to("cpu"); }).kind == 2);
}
