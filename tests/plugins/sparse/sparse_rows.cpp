// Slices, take_rows and retain on sparse tensors against selecting rows of the dense ones.
#include <doctest/doctest.h>

#include <algorithm>

#include "sparse.hpp"

using namespace plugin_tests;

namespace {

/// Rows of a matrix, with zeros for an index of -1.
Doubles rows_of(const Tensor& matrix, const Integers& numbers) {
  const auto all = expanded(matrix);
  const auto columns = static_cast<std::ptrdiff_t>(matrix.shape()[1]);
  Doubles result;
  for (const auto row : numbers) {
    if (row < 0)
      result.insert(result.end(), static_cast<std::size_t>(columns), 0.0);
    else
      result.insert(result.end(), all.begin() + row * columns, all.begin() + (row + 1) * columns);
  }
  return result;
}

Tensor list(const Integers& numbers, DType dtype = tenon::i64) {
  return tensor(dtype, {static_cast<std::int64_t>(numbers.size())},
                Doubles(numbers.begin(), numbers.end()));
}

Integers row_indices(const Tensor& ids) {
  const auto values = ids.values<std::int64_t>();
  return {values.begin(), values.end()};
}

const DType row_dtypes[] = {tenon::f32, tenon::f64, tenon::f16, tenon::bf16,
                            tenon::i32, tenon::i64, tenon::u8};

/// Calls body with every sparse tensor of the patterns.
template <class Body>
void each_sparse(Body body) {
  for (const auto& pattern : patterns())
    for (const auto storage : {Storage::csr, Storage::row_sparse})
      for (const auto dtype : row_dtypes) {
        CAPTURE(pattern.name);
        CAPTURE(static_cast<int>(storage));
        CAPTURE(name(dtype));
        body(sparse_of(pattern, dtype, storage));
      }
}

/// Lists of row indices: empty, reversed, and with repetitions.
std::vector<Integers> lists(std::int64_t rows) {
  std::vector<Integers> all{{}};
  if (rows == 0) return all;
  Integers backwards, twice;
  for (auto row = rows; row-- > 0;) backwards.push_back(row);
  for (std::int64_t row = 0; row < rows; row += 2) twice.insert(twice.end(), {row, rows - 1 - row});
  all.insert(all.end(), {backwards, twice, {rows / 2}});
  return all;
}

}  // namespace

TEST_CASE(
    "slice selects rows of csr and row_sparse tensors as Python does, and its gradient restores "
    "them") {
  struct Range {
    std::int64_t begin, end, step;
  };
  each_sparse([](const Tensor& x) {
    const auto size = x.shape()[0];
    for (const auto& range : {Range{0, 100, 1},
                              {1, -1, 1},
                              {0, 100, 3},
                              {-1, -100, -1},
                              {-2, 0, -2},
                              {3, 2, 1},
                              {1, 2, 1}}) {
      const auto begin = range.begin, end = range.end,
                 step = range.step;  // clang 14 cannot capture a structured binding in a lambda
      CAPTURE(begin);
      CAPTURE(step);
      const auto bounded = [&](std::int64_t i) {
        return std::clamp<std::int64_t>(i < 0 ? i + size : i, step > 0 ? 0 : -1,
                                        step > 0 ? size : size - 1);
      };
      Integers rows;
      for (auto row = bounded(begin); step > 0 ? row < bounded(end) : row > bounded(end);
           row += step)
        rows.push_back(row);
      const Attributes attributes{
          {"begin", Integers{begin}}, {"end", Integers{end}}, {"step", Integers{step}}};
      const auto y = strict_host().call("slice", {x}, attributes);
      CHECK(y.storage() == x.storage());
      CHECK(y.shape()[0] == static_cast<std::int64_t>(rows.size()));
      CHECK(expanded(y) == rows_of(x, rows));
    }
  });
}

TEST_CASE(
    "the gradient of a slice of rows is row_sparse if the output's gradient is, and dense if that "
    "is") {
  for (const std::int64_t step : {1, 2, -3})
    for (const bool sparse : {false, true}) {
      CAPTURE(step);
      const Attributes attributes{{"begin", Integers{step > 0 ? 2 : -2}},
                                  {"end", Integers{step > 0 ? 9 : 0}},
                                  {"step", Integers{step}}};
      const Integers taken{1, 0, 1};  // of the slice
      tenon::Graph graph(strict_host());
      const auto x = graph.input("x", tenon::f32, {11, 4});
      const auto rows =
          graph.add("take_rows",
                    {graph.add("slice", {x}, attributes), graph.constant("numbers", list(taken))},
                    {{"sparse_grad", sparse}});
      graph.output("dx", graph.gradient(rows, {x}).at(0));
      const auto dx =
          tenon::Session(graph).run({{"x", dense_of({"", {11, 4}, 1}, tenon::f32)}}).at("dx");
      CHECK(dx.storage() == (sparse ? Storage::row_sparse : Storage::dense));
      Doubles expected(44, 0.0);
      for (const auto row : taken)
        for (std::int64_t j = 0; j < 4; ++j)
          expected[static_cast<std::size_t>(((step > 0 ? 2 : 9) + row * step) * 4 + j)] += 1;
      CHECK(expanded(dx) == expected);
    }
}

TEST_CASE("take_rows selects rows in any order from a tensor of any storage format") {
  each_sparse([](const Tensor& x) {
    for (const auto& numbers : lists(x.shape()[0]))
      for (const auto& data : {x, cast_storage(x, Storage::dense)}) {
        const auto y = strict_host().call(
            "take_rows", {data, list(numbers, numbers.size() % 2 ? tenon::i32 : tenon::i64)});
        CHECK(y.storage() == data.storage());
        CHECK(y.shape()[0] == static_cast<std::int64_t>(numbers.size()));
        CHECK(expanded(y) == rows_of(x, numbers));
      }
  });
}

TEST_CASE(
    "the gradient of take_rows adds for repeated rows, as dense or with the taken rows only") {
  for (const auto& pattern : patterns())
    for (const auto storage : {Storage::dense, Storage::csr, Storage::row_sparse})
      for (const bool sparse_grad : {false, true})
        for (const auto& numbers : lists(pattern.shape[0])) {
          CAPTURE(pattern.name);
          const auto dy =
              dense_of({"", {static_cast<std::int64_t>(numbers.size()), pattern.shape[1]}, 1},
                       tenon::f32, 4);
          Doubles expected(static_cast<std::size_t>(pattern.shape.size()), 0.0);
          const auto given = expanded(dy);
          const auto columns = static_cast<std::size_t>(pattern.shape[1]);
          for (std::size_t i = 0; i < given.size(); ++i)
            expected[static_cast<std::size_t>(numbers[i / columns]) * columns + i % columns] +=
                given[i];
          const auto x = cast_storage(dense_of(pattern, tenon::f32), storage);
          for (const int threads : {1, 4}) {
            tenon::Graph graph(strict_host(threads));
            const auto value = graph.input("x", tenon::f32, x.shape());
            const auto taken =
                graph.add("take_rows", {value, graph.constant("numbers", list(numbers))},
                          {{"sparse_grad", sparse_grad}});
            const auto loss = graph.add("cast_storage", {taken}, {{"storage", "dense"}});
            graph.output("dx", graph.gradient(loss, {value}).at(0));
            const auto ones = tenon::Session(graph).run({{"x", x}}).at("dx");
            CHECK(ones.storage() == (sparse_grad ? Storage::row_sparse : Storage::dense));
            auto unique = numbers;
            std::sort(unique.begin(), unique.end());
            unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
            if (sparse_grad) CHECK(row_indices(ones.row_ids()) == unique);
          }
          if (storage != Storage::dense) continue;
          const auto dx = gradient(strict_host(), "take_rows", {x, list(numbers)},
                                   {{"sparse_grad", sparse_grad}}, 0, dy);
          CHECK(expanded(dx) == expected);
        }
}

TEST_CASE("retain keeps the listed rows, and its gradient those of the output's gradient") {
  each_sparse([](const Tensor& x) {
    for (const auto& numbers : lists(x.shape()[0])) {
      Integers kept(static_cast<std::size_t>(x.shape()[0]), -1);
      for (const auto row : numbers) kept[static_cast<std::size_t>(row)] = row;
      for (const auto& data : {x, cast_storage(x, Storage::dense)}) {
        const auto y = strict_host().call("retain", {data, list(numbers)});
        CHECK(y.storage() == data.storage());
        CHECK(expanded(y) == rows_of(x, kept));
        if (y.storage() == Storage::row_sparse)
          CHECK(y.stored() <= static_cast<std::int64_t>(numbers.size()));
      }
      if (x.dtype() != tenon::f32) continue;
      const auto dy = dense_of({"", x.shape(), 1}, tenon::f32, 8);
      CHECK(expanded(gradient(host(), "retain", {cast_storage(x, Storage::dense), list(numbers)},
                              {}, 0, dy)) == rows_of(dy, kept));
    }
  });
}

TEST_CASE("row indices out of range are refused") {
  const auto x = sparse_of({"", {3, 2}, 1}, tenon::f32, Storage::csr);
  for (const char* op : {"take_rows", "retain"})
    for (const auto& data :
         {x, cast_storage(x, Storage::row_sparse), cast_storage(x, Storage::dense)}) {
      check_says(failure(op, {data, list({0, 3})}), {"numbers[1] is 3", "3 rows", "0 to 2"});
      check_says(failure(op, {data, list({-1})}), {"numbers[0] is -1"});
    }
}
