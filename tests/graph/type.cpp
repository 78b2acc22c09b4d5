#include "graph/inference/type.hpp"

#include <doctest/doctest.h>

using tenon::DType;
using tenon::Merge;
using tenon::Shape;

TEST_CASE("type: merging two partial types") {
  const auto f = [](const Shape& shape) { return tenon::type_of(DType::f32, shape); };
  auto no_dtype = f({2, -1});
  no_dtype.dtype = TENON_DTYPE_UNKNOWN;
  struct Case {
    tenon_type into, from;
    Merge result;
    const char* text;
  };
  const Case cases[] = {
      {f({2, 3}), f({2, 3}), Merge::same, "float32 [2, 3]"},
      {f({2, 3}), f({2, -1}), Merge::same, "float32 [2, 3]"},
      {f({2, 3}), tenon::unknown_type(), Merge::same, "float32 [2, 3]"},
      {tenon::unknown_type(), f({2, 3}), Merge::learned, "float32 [2, 3]"},
      {f({-1, 3}), f({2, -1}), Merge::learned, "float32 [2, 3]"},
      {no_dtype, f({-1, 3}), Merge::learned, "float32 [2, 3]"},
      {f({2, 3}), f({3, 3}), Merge::contradiction, "float32 [2, 3]"},
      {f({2, 3}), f({2, 3, 1}), Merge::contradiction, "float32 [2, 3]"},
      {f({2, -1}), tenon::type_of(DType::f64, {2, 3}), Merge::contradiction, "float32 [2, ?]"},
      {f({-1, 3}), f({2, 4}), Merge::contradiction, "float32 [?, 3]"},
      {f(Shape::scalar()), f(Shape::scalar()), Merge::same, "float32 []"},
      {f({3}), f({0}), Merge::contradiction, "float32 [3]"},
      {f({0}), f({3}), Merge::contradiction, "float32 [0]"},
      {f({-1}), f({0}), Merge::learned, "float32 [0]"},
      {f({0}), f({-1}), Merge::same, "float32 [0]"},
      {f({0}), f({0}), Merge::same, "float32 [0]"},
  };
  for (const auto& c : cases) {
    auto into = c.into;
    CAPTURE(tenon::to_string(c.into));
    CAPTURE(tenon::to_string(c.from));
    CHECK(tenon::merge(into, c.from) == c.result);
    CHECK(tenon::to_string(into) == c.text);
  }
}

TEST_CASE("type: sizes that overflow are reported, not wrapped") {
  const std::int64_t big = std::int64_t{1} << 31;
  CHECK(tenon::byte_count(tenon::type_of(DType::f64, {2, 3})) == 48);
  CHECK(tenon::byte_count(tenon::type_of(DType::f64, {big, big, 0})) == 0);
  CHECK(tenon::byte_count(tenon::type_of(DType::f64, {big, big})) == -1);
  CHECK(tenon::element_count(tenon::type_of(DType::u8, {big, big, 4})) == -1);
  CHECK(tenon::element_count(tenon::type_of(DType::u8, Shape::scalar())) == 1);
}

TEST_CASE("type: types from plugins and files are validated") {
  const auto sound = tenon::type_of(DType::f32, {2, -1});
  CHECK(tenon::is_sound(sound));
  const auto broken = [&](auto&& change) {
    auto type = sound;
    change(type);
    return !tenon::is_sound(type);
  };
  CHECK(broken([](tenon_type& t) { t.rank = 9; }));
  CHECK(broken([](tenon_type& t) { t.rank = -2; }));
  CHECK(broken([](tenon_type& t) { t.dims[0] = -2; }));
  CHECK(broken([](tenon_type& t) { t.dims[2] = 5; }));
  CHECK(broken([](tenon_type& t) { t.dtype = TENON_DTYPE_COUNT; }));
  CHECK(broken([](tenon_type& t) { t.storage = 3; }));
}

TEST_CASE("type: text includes the storage unless it is dense") {
  auto type = tenon::type_of(DType::f32, {2, -1});
  CHECK(tenon::to_string(type) == "float32 [2, ?]");
  type.storage = TENON_CSR;
  CHECK(tenon::to_string(type) == "csr float32 [2, ?]");
  type.storage = TENON_ROW_SPARSE;
  CHECK(tenon::to_string(type) == "row_sparse float32 [2, ?]");
  const auto rows = tenon::Tensor::row_sparse(tenon::Tensor::zeros(DType::f64, {1, 3}),
                                              tenon::Tensor::zeros(DType::i32, {1}), {4, 3});
  CHECK(tenon::to_string(tenon::type_of(rows)) == "row_sparse float64 [4, 3]");
}
