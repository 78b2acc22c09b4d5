#include "train/batches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <tenon/host/cast_storage.hpp>
#include <tenon/visit.hpp>

#include "../failure_of.hpp"
#include "../temporary_folder.hpp"
#include "file/array/npy.hpp"

using namespace tenon;

namespace {

/// Row i of `x` holds 10 i, 10 i + 1, 10 i + 2; `y` is i.
NamedTensors rows_of(std::int64_t count, DType dtype = i32) {
  NamedTensors data{{"x", Tensor::empty(dtype, {count, 3})}, {"y", Tensor::empty(i64, {count})}};
  visit(dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < 3 * count; ++i)
      data["x"].data<T>()[i] = static_cast<T>(static_cast<float>(i / 3 * 10 + i % 3));
  });
  std::iota(data["y"].data<std::int64_t>(), data["y"].data<std::int64_t>() + count, 0);
  return data;
}

}  // namespace

TEST_CASE(
    "batches: an epoch has every example once, rows of all tensors together, and a smaller last "
    "batch") {
  for (const auto dtype : {boolean, u8, i8, i32, i64, f16, bf16, f32, f64}) {
    const auto data = rows_of(11, dtype);
    Batches batches(data, 4, 7);
    CHECK(batches.count() == 3);
    std::vector<std::int64_t> seen;
    for (std::int64_t position = 0; position < 11; position += 4) {
      const auto batch = batches.take(2, position);
      const auto y = batch.at("y").values<std::int64_t>();
      CHECK(batch.at("x").shape() == Shape{std::min<std::int64_t>(4, 11 - position), 3});
      const auto row_bytes = 3 * size_of(dtype);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto* found = static_cast<const char*>(batch.at("x").data()) + i * row_bytes;
        const auto* expected = static_cast<const char*>(data.at("x").data()) +
                               static_cast<std::size_t>(y[i]) * row_bytes;
        CHECK(std::equal(found, found + row_bytes, expected));
      }
      seen.insert(seen.end(), y.begin(), y.end());
    }
    CHECK(std::is_permutation(seen.begin(), seen.end(), data.at("y").data<std::int64_t>()));
    CHECK(seen.size() == 11);
  }
}

TEST_CASE("batches: csr examples give csr batches with the same rows") {
  const auto dense = rows_of(11, f32);
  auto data = dense;
  data["x"] = cast_storage(data["x"], Storage::csr);
  Batches sparse_batches(data, 4, 7), batches(dense, 4, 7);
  for (std::int64_t position = 0; position < 11; position += 4) {
    const auto batch = sparse_batches.take(2, position);
    CHECK(batch.at("x").storage() == Storage::csr);
    CHECK(
        same_bits(cast_storage(batch.at("x"), Storage::dense), batches.take(2, position).at("x")));
    CHECK(same_bits(batch.at("y"), batches.take(2, position).at("y")));
  }
  data["x"] = cast_storage(dense.at("x"), Storage::row_sparse);
  CHECK(failure_of([&] { Batches(data, 4, 7); }).message ==
        "'x' is row_sparse, but examples must be dense or csr");
}

TEST_CASE("batches: the order depends only on seed and epoch") {
  Batches one(rows_of(100), 10, 1), other(rows_of(100), 7, 1), seed(rows_of(100), 10, 2),
      plain(rows_of(100), 10, 1, false);
  const auto first = one.order_of(0), third = one.order_of(2);
  CHECK(other.order_of(2) == third);
  CHECK(one.order_of(0) == first);
  CHECK(first != third);
  CHECK(seed.order_of(0) != first);
  std::vector<std::int64_t> ascending(100);
  std::iota(ascending.begin(), ascending.end(), 0);
  CHECK(plain.order_of(0) == ascending);
  CHECK(plain.order_of(5) == ascending);
}

TEST_CASE("batches: every example is equally likely at every position") {
  constexpr int n = 5, epochs = 20000;
  Batches batches(rows_of(n), 1, 3);
  int counts[n][n] = {};
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch)
    for (int place = 0; place < n; ++place)
      ++counts[place][batches.order_of(epoch)[static_cast<std::size_t>(place)]];
  for (const auto& row : counts)
    for (const int count : row)
      CHECK(std::abs(count - epochs / n) < 300);  // 5.3 standard deviations
}

TEST_CASE("batches: data without examples is refused") {
  auto longer = rows_of(4);
  longer["y"] = Tensor::zeros(i64, {5});
  const struct {
    NamedTensors data;
    std::int64_t batch;
    const char* message;
  } rows[] = {
      {{}, 1, "there is no data to train on"},
      {rows_of(4), 0, "batch is 0 but must be at least 1"},
      {{{"x", Tensor::zeros(f32, Shape::scalar())}},
       1,
       "'x' is a scalar, but its first dimension must count the examples"},
      {longer, 1, "'x' has 4 examples but 'y' has 5"},
      {rows_of(0), 1, "'x' has no examples"},
  };
  for (const auto& row : rows) {
    const auto failure = failure_of([&] { Batches(row.data, row.batch, 0); });
    CHECK(failure.message == row.message);
    CHECK(failure.kind == 2);
  }
}

TEST_CASE("batches: a changed mapped file of the data is reported by the next batch") {
  const TemporaryFolder folder;
  const auto path = folder / "x.npy";
  write_npy(path, rows_of(11).at("x"));
  Batches mapped({{"x", read_npy(path, 0)}}, 4, 7), read({{"x", read_npy(path)}}, 4, 7);
  mapped.take(0, 0);
  const auto before = read.take(0, 4);
  write_bytes(path, std::string(std::filesystem::file_size(path), 'x'));
  CHECK(failure_of([&] { mapped.take(0, 4); }).message ==
        path.string() + " was written to while it was in use");
  CHECK(same_bits(read.take(0, 4).at("x"), before.at("x")));
}
