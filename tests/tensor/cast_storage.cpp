#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <tenon/host/cast_storage.hpp>

#include "check_says.hpp"
#include "expanded.hpp"
#include "failure_of.hpp"

using namespace tenon;
using Ints64 = std::vector<std::int64_t>;

namespace {

constexpr Storage all_storages[] = {Storage::dense, Storage::csr, Storage::row_sparse};

// Integers from 1 to 9 at a fraction `share` of the positions, with some empty rows.
Tensor random_dense(DType dtype, const Shape& shape, double share, unsigned seed) {
  std::mt19937 random(seed);
  Tensor tensor = Tensor::zeros(dtype, shape);
  const std::int64_t row = shape.rank() == 0 || shape[0] == 0 ? 1 : tensor.size() / shape[0];
  visit(dtype, [&]<class T>() {
    bool empty = false;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      if (i % row == 0) empty = random() % 3 == 0;
      if (!empty && random() % 1000 < share * 1000)
        tensor.data<T>()[i] = static_cast<T>(static_cast<float>(1 + random() % 9));
    }
  });
  return tensor;
}

}  // namespace

TEST_CASE("cast_storage: conversions between all storages preserve the elements") {
  const struct {
    Shape shape;
    double share;
  } cases[] = {{{1, 1}, 0}, {{1, 1}, 1}, {{7, 5}, 0.3},    {{7, 5}, 0},   {{5, 7}, 1},
               {{0, 3}, 1}, {{3, 0}, 1}, {{40, 30}, 0.02}, {{64, 1}, 0.5}};
  for (const auto& test : cases) {
    for (const DType dtype : {boolean, u8, i8, i32, i64, f16, bf16, f32, f64}) {
      const Tensor dense = random_dense(dtype, test.shape, test.share, 7);
      const std::vector<double> expected = expanded(dense);
      for (const Storage from : all_storages) {
        for (const Storage to : all_storages) {
          for (const DType index : {i32, i64}) {
            CAPTURE(to_string(test.shape));
            CAPTURE(name_of(from));
            CAPTURE(name_of(to));
            const Tensor result = cast_storage(cast_storage(dense, from, index), to, index);
            CHECK(result.storage() == to);
            CHECK(result.dtype() == dtype);
            CHECK(result.shape() == test.shape);
            CHECK(expanded(result) == expected);
            if (to != Storage::dense) CHECK(result.index_dtype() == index);
            // All paths give the same result: zeros and rows of zeros are not stored.
            CHECK(same_bits(result, cast_storage(dense, to, index)));
          }
        }
      }
    }
  }
}

TEST_CASE("cast_storage: number of stored elements") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor dense =
      Tensor::from({0.0f, -0.0f, 1.0f, 0.0f, 0.0f, -0.0f, nan, 0.0f, 1e-45f}, {3, 3});
  CHECK(cast_storage(dense, Storage::csr).to_string() ==
        "csr float32 [3, 3], 3 stored  (0, 2) 1 (2, 0) nan (2, 2) 1e-45");
  CHECK(cast_storage(dense, Storage::row_sparse).to_string() ==
        "row_sparse float32 [3, 3], 2 stored  (0) 0 -0 1 (2) nan 0 1e-45");
  const Tensor halves = Tensor::from({half(-0.0f), half(2.0f)}, {1, 2});
  CHECK(cast_storage(halves, Storage::csr).to_string() == "csr float16 [1, 2], 1 stored  (0, 1) 2");
  // Zeros that csr stores explicitly are kept, and so are their rows.
  const Tensor zeros = Tensor::csr(list(std::vector<float>{0, 5}), list(Ints64{1, 0}),
                                   list(Ints64{0, 1, 1, 2}), {3, 2});
  CHECK(cast_storage(zeros, Storage::row_sparse).to_string() ==
        "row_sparse float32 [3, 2], 2 stored  (0) 0 0 (2) 5 0");
  CHECK(cast_storage(zeros, Storage::csr, i32).stored() == 2);
}

TEST_CASE("cast_storage: row_sparse of any rank") {
  for (const Shape& shape :
       {Shape{6}, Shape{6, 2, 3}, Shape{5, 1, 1, 2}, Shape{4, 0, 3}, Shape{0, 2, 2}}) {
    const Tensor dense = random_dense(f64, shape, 0.4, 3),
                 rows = cast_storage(dense, Storage::row_sparse);
    CHECK(rows.shape() == shape);
    CHECK(expanded(rows) == expanded(dense));
    CHECK(same_bits(cast_storage(rows, Storage::dense), dense));
  }
}

TEST_CASE("cast_storage: strided tensors are cast in row-major order") {
  float values[] = {1, 2, 0, 3, 0, 4};
  const Ints64 turned = {1, 2};
  const Tensor dense = Tensor::borrow(values, f32, {2, 3}, turned);
  CHECK(cast_storage(dense, Storage::csr).to_string() ==
        "csr float32 [2, 3], 4 stored  (0, 0) 1 (1, 0) 2 (1, 1) 3 (1, 2) 4");
}

TEST_CASE("cast_storage: a tensor that already has the storage is not copied") {
  const Tensor dense = Tensor::from({1.0f, 0.0f}, {1, 2}), csr = cast_storage(dense, Storage::csr);
  CHECK(cast_storage(dense, Storage::dense).data() == dense.data());
  CHECK(cast_storage(csr, Storage::csr).abi().indices == csr.abi().indices);
  const Tensor small = cast_storage(csr, Storage::csr, i32);
  CHECK(small.index_dtype() == i32);
  CHECK(small.stored_values().data() == csr.stored_values().data());
}

TEST_CASE("cast_storage: int32 indices support at most 2^31 columns") {
  const auto empty = [](std::int64_t columns) {
    return Tensor::csr(Tensor::zeros(f32, {0}), list(Ints64{}), list(Ints64{0, 0}), {1, columns});
  };
  const std::int64_t most = std::int64_t{1} << 31;
  CHECK(cast_storage(empty(most), Storage::csr, i32).index_dtype() == i32);
  check_says(failure_of([&] { cast_storage(empty(most + 1), Storage::csr, i32); }).message,
             {"csr float32 [1, 2147483649]", "do not fit int32"});
}

TEST_CASE("cast_storage: refuses impossible casts") {
  const Tensor wide = Tensor::csr(list(std::vector<float>{1}), list(Ints64{std::int64_t{1} << 33}),
                                  list(Ints64{0, 1}), {1, std::int64_t{1} << 34});
  const struct {
    std::function<void()> cast;
    const char* message;
  } cases[] = {
      {[] {
         cast_storage(Tensor::zeros(f32, {2, 2, 2}), Storage::csr);
       },
       "dense float32 [2, 2, 2] cannot become csr, which needs two dimensions"},
      {[] { cast_storage(Tensor::zeros(f32, Shape::scalar()), Storage::row_sparse); },
       "dense float32 [] cannot become row_sparse, which needs at least one dimension"},
      {[] {
         cast_storage(Tensor::zeros(f32, {INT64_MAX, 0}), Storage::csr);
       },
       "dense float32 [9223372036854775807, 0] has more rows than csr can count"},
      {[] {
         cast_storage(Tensor::zeros(f32, {2, 2}), Storage::csr, f32);
       },
       "indices must be int32 or int64, not float32"},
      {[&] { cast_storage(wide, Storage::csr, i32); },
       "csr float32 [1, 17179869184] may have indices that do not fit int32"},
      {[] { cast_storage(Tensor(), Storage::csr); },
       "this tensor is empty: it has no dtype, shape or elements"},
  };
  for (const auto& test : cases) CHECK(failure_of(test.cast).message == test.message);
}

TEST_CASE("csr_from_coordinates: sorts, and sums values with equal coordinates in order") {
  const auto rows = list(Ints64{2, 0, 2, 0, 2}), columns = list(Ints64{1, 2, 0, 0, 1});
  const struct {
    Tensor values;
    const char* text;
  } cases[] = {
      {list(std::vector<float>{1, 2, 3, 4, 5}),
       "csr float32 [3, 3], 4 stored  (0, 0) 4 (0, 2) 2 (2, 0) 3 (2, 1) 6"},
      {list(std::vector<std::int32_t>{INT32_MAX, 2, 3, 4, 1}),
       "csr int32 [3, 3], 4 stored  (0, 0) 4 (0, 2) 2 (2, 0) 3 (2, 1) -2147483648"},
      {list(std::vector<std::int8_t>{100, 2, 3, 4, 100}),
       "csr int8 [3, 3], 4 stored  (0, 0) 4 (0, 2) 2 (2, 0) 3 (2, 1) -56"},
      {list(std::vector<half>{1.0f, 2.0f, 3.0f, 4.0f, -1.0f}),
       "csr float16 [3, 3], 4 stored  (0, 0) 4 (0, 2) 2 (2, 0) 3 (2, 1) 0"},
      {Tensor::from({true, false, true, true, false}, {5}),
       "csr bool [3, 3], 4 stored  (0, 0) true (0, 2) false (2, 0) true (2, 1) true"},
  };
  for (const auto& test : cases)
    CHECK(csr_from_coordinates(test.values, rows, columns, {3, 3}).to_string() == test.text);
  CHECK(csr_from_coordinates(list(std::vector<float>{}), list(Ints64{}), list(Ints64{}), {2, 0})
            .to_string() == "csr float32 [2, 0], 0 stored");
  const float big = 1e8f;  // in float, (big + 1) - big is 0 and big - big + 1 is 1
  const auto once = [](const std::vector<float>& values) {
    return csr_from_coordinates(list(values), Tensor::zeros(i32, {3}), Tensor::zeros(i32, {3}),
                                {1, 1})
        .stored_values()
        .values<float>()[0];
  };
  CHECK(once({big, 1, -big}) == 0);
  CHECK(once({big, -big, 1}) == 1);
}

TEST_CASE("csr_from_coordinates: sums many values with equal coordinates in input order") {
  std::vector<float> values;
  Ints64 columns;
  float sums[2] = {0, 0};
  for (int i = 0; i < 600; ++i) {
    // magnitudes for which the sum depends on the order
    values.push_back(static_cast<float>(std::pow(10, i % 9) * (i % 7 - 3)));
    columns.push_back((i + 1) % 2);  // not sorted
    sums[columns.back()] += values.back();
  }
  const Tensor csr =
      csr_from_coordinates(list(values), Tensor::zeros(i32, {600}), list(columns), {1, 2});
  CHECK(same_bits(csr.stored_values(), list(std::vector<float>{sums[0], sums[1]})));
}

TEST_CASE("csr_from_coordinates: random coordinates agree with a table of sums") {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    const std::int64_t height = 1 + random() % 12, width = 1 + random() % 12, count = random() % 60;
    std::vector<double> sums(static_cast<std::size_t>(height * width), 0.0), values;
    Ints64 rows, columns;
    for (std::int64_t i = 0; i < count; ++i) {
      rows.push_back(random() % height), columns.push_back(random() % width),
          values.push_back(1 + random() % 5);
      sums[static_cast<std::size_t>(rows.back() * width + columns.back())] += values.back();
    }
    const Tensor csr =
        csr_from_coordinates(list(values), list(rows), list(columns), {height, width});
    CHECK(expanded(csr) == sums);
    CHECK(csr.stored() ==
          std::count_if(sums.begin(), sums.end(), [](double sum) { return sum != 0; }));
  }
}

TEST_CASE("csr_from_coordinates: names invalid coordinates") {
  const auto values = list(std::vector<float>{1, 2}), places = list(Ints64{0, 1});
  const struct {
    std::function<void()> make;
    const char* message;
  } cases[] = {
      {[&] {
         csr_from_coordinates(values, places, list(Ints64{0, 3}), {2, 3});
       },
       "column index 1 is 3, but there are 3 columns"},
      {[&] {
         csr_from_coordinates(values, list(Ints64{-1, 0}), places, {2, 3});
       },
       "row index 0 is -1, but there are 2 rows"},
      {[&] {
         csr_from_coordinates(values, places, list(Ints64{0}), {2, 3});
       },
       "the values have shape [2], but the column indices [1]"},
      {[&] {
         csr_from_coordinates(values, places, values, {2, 3});
       },
       "column indices must be int32 or int64, not float32"},
      {[&] { csr_from_coordinates(values, places, places, {2}); },
       "csr needs two known dimensions, not [2]"},
      {[&] {
         csr_from_coordinates(values.reshape({2, 1}), places, places, {2, 2});
       },
       "values must be a list, not [2, 1]"},
      {[&] {
         csr_from_coordinates(values, places, places, {INT64_MAX, 2});
       },
       "a matrix [9223372036854775807, 2] has more rows than can be counted"},
  };
  for (const auto& test : cases) CHECK(failure_of(test.make).message == test.message);
}
