// matmul of csr and dense matrices against loops over every index.
#include <doctest/doctest.h>

#include "sparse.hpp"

using namespace plugin_tests;

namespace {

struct Matrix {
  std::int64_t rows, columns;
  Doubles values;
  double at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

Matrix matrix(const Tensor& tensor, bool transposed = false) {
  const auto rows = tensor.shape()[0], columns = tensor.shape()[1];
  const Matrix stored{rows, columns, expanded(tensor)};
  if (!transposed) return stored;
  Matrix result{columns, rows, {}};
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i) result.values.push_back(stored.at(i, j));
  return result;
}

Matrix transpose(const Matrix& of) {
  Matrix result{of.columns, of.rows, {}};
  for (std::int64_t j = 0; j < of.columns; ++j)
    for (std::int64_t i = 0; i < of.rows; ++i) result.values.push_back(of.at(i, j));
  return result;
}

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix result{a.rows, b.columns, {}};
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < b.columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.columns; ++k) sum += a.at(i, k) * b.at(k, j);
      result.values.push_back(sum);
    }
  return result;
}

/// The indices of the rows with a nonzero element.
Doubles rows_used(const Matrix& of) {
  Doubles rows;
  for (std::int64_t i = 0; i < of.rows; ++i)
    for (std::int64_t j = 0; j < of.columns; ++j)
      if (of.at(i, j) != 0) {
        rows.push_back(static_cast<double>(i));
        break;
      }
  return rows;
}

Tensor other_side(std::int64_t inner, std::int64_t free, bool as_columns, DType dtype) {
  return dense_of({"dense", as_columns ? Shape{free, inner} : Shape{inner, free}, 1}, dtype, 7);
}

struct Product {
  Pattern pattern;
  DType dtype;
  bool csr_left, transpose_a, transpose_b;
  std::int64_t free;
};

std::vector<Product> products() {
  std::vector<Product> all;
  for (const auto& pattern : patterns())
    for (const auto dtype : {tenon::f32, tenon::f64})
      for (const bool csr_left : {true, false})
        for (const bool transpose_a : {false, true})
          for (const bool transpose_b : {false, true})
            for (const std::int64_t free : {0, 1, 3, 21, 300})
              all.push_back({pattern, dtype, csr_left, transpose_a, transpose_b, free});
  return all;
}

}  // namespace

TEST_CASE(
    "matmul of csr and dense matches the sum over every index, and so do its gradients, on any "
    "number of threads") {
  for (const auto& test : products()) {
    // clang 14 cannot capture a structured binding in a lambda, and so not in CAPTURE
    const auto& pattern = test.pattern;
    const auto dtype = test.dtype;
    const auto csr_left = test.csr_left, transpose_a = test.transpose_a,
               transpose_b = test.transpose_b;
    const auto free = test.free;
    CAPTURE(pattern.name);
    CAPTURE(csr_left);
    CAPTURE(transpose_a);
    CAPTURE(transpose_b);
    CAPTURE(free);
    const auto csr = sparse_of(pattern, dtype, Storage::csr);
    const auto inner = csr.shape()[(csr_left ? transpose_a : transpose_b) == csr_left ? 0 : 1];
    const auto dense = other_side(inner, free, csr_left ? transpose_b : !transpose_a, dtype);
    const auto left = csr_left ? csr : dense, right = csr_left ? dense : csr;
    const Attributes attributes{{"transpose_a", transpose_a}, {"transpose_b", transpose_b}};

    const auto a = matrix(left, transpose_a), b = matrix(right, transpose_b),
               expected = multiply(a, b);
    const auto product = strict_host(4).call("matmul", {left, right}, attributes);
    CHECK(product.storage() == Storage::dense);
    CHECK(tenon::to_string(product.shape()) ==
          tenon::to_string(Shape{expected.rows, expected.columns}));
    CHECK(numbers(product) == expected.values);
    CHECK(same_bits(strict_host(1).call("matmul", {left, right}, attributes), product));

    const auto dy = dense_of({"weights", product.shape(), 1}, dtype, 3);
    const auto da = multiply(matrix(dy), transpose(b)), db = multiply(transpose(a), matrix(dy));
    const auto found_a = gradient(strict_host(), "matmul", {left, right}, attributes, 0, dy);
    const auto found_b = gradient(strict_host(), "matmul", {left, right}, attributes, 1, dy);
    CHECK(expanded(found_a) == (transpose_a ? transpose(da) : da).values);
    CHECK(expanded(found_b) == (transpose_b ? transpose(db) : db).values);
    CHECK(found_a.storage() == Storage::dense);
    CHECK(found_b.storage() == (csr_left && !transpose_b ? Storage::row_sparse : Storage::dense));
    if (found_b.storage() == Storage::row_sparse)
      CHECK(numbers(found_b.row_ids()) == rows_used(transpose(a)));
    CHECK(same_bits(gradient(strict_host(1), "matmul", {left, right}, attributes, 1, dy), found_b));
  }
}

TEST_CASE("matmul returns row_sparse products and dense gradients if requested") {
  for (const auto& pattern : patterns())
    for (const bool transposed : {false, true})
      for (const std::int64_t free : {1, 20}) {
        CAPTURE(pattern.name);
        CAPTURE(transposed);
        const auto left = sparse_of(pattern, tenon::f32, Storage::csr);
        const auto a = matrix(left, transposed);
        for (const bool transpose_b : {false, true}) {
          const auto right = other_side(a.columns, free, transpose_b, tenon::f32);
          const Attributes attributes{{"transpose_a", transposed},
                                      {"transpose_b", transpose_b},
                                      {"row_sparse_product", true},
                                      {"dense_grad", true}};
          const auto expected = multiply(a, matrix(right, transpose_b));
          const auto product = strict_host().call("matmul", {left, right}, attributes);
          CHECK(product.storage() == Storage::row_sparse);
          CHECK(expanded(product) == expected.values);
          CHECK(numbers(product.row_ids()) == rows_used(a));
        }
        const auto right = other_side(a.columns, free, false, tenon::f32);
        const auto dy = dense_of({"weights", {a.rows, free}, 1}, tenon::f32, 3);
        const auto db = gradient(strict_host(), "matmul", {left, right},
                                 {{"transpose_a", transposed}, {"dense_grad", true}}, 1, dy);
        CHECK(db.storage() == Storage::dense);
        CHECK(numbers(db) == multiply(transpose(a), matrix(dy)).values);
      }
}

TEST_CASE("matmul of csr with vectors and batches matches that of the dense matrix") {
  const Pattern pattern{"sparse", {12, 9}, 0.3};
  const auto dense = dense_of(pattern, tenon::f64), csr = cast_storage(dense, Storage::csr);
  const auto filled = [](const Shape& shape, unsigned seed) {
    return tensor(tenon::f64, shape,
                  expanded(dense_of({"", {1, shape.size()}, 1}, tenon::f64, seed)));
  };
  const struct {
    bool csr_left, transpose_a, transpose_b;
    Shape other, product;
  } rows[] = {{true, false, false, {9}, {12}},
              {true, true, false, {12}, {9}},
              {false, false, false, {12}, {9}},
              {false, false, true, {9}, {12}},
              {true, false, false, {3, 9, 5}, {3, 12, 5}},
              {true, true, true, {2, 4, 12}, {2, 9, 4}},
              {false, false, false, {2, 3, 12}, {2, 3, 9}},
              {false, true, false, {2, 12, 3}, {2, 3, 9}},
              {false, true, true, {2, 1, 9, 3}, {2, 1, 3, 12}}};
  for (const auto& row : rows) {
    const auto csr_left = row.csr_left, transpose_a = row.transpose_a,
               transpose_b = row.transpose_b;
    const auto &other = row.other, &product = row.product;
    CAPTURE(tenon::to_string(other));
    for (const bool row_sparse : {false, true}) {
      const Attributes attributes{{"transpose_a", transpose_a},
                                  {"transpose_b", transpose_b},
                                  {"row_sparse_product", row_sparse}};
      const auto operand = filled(other, 5), dy = filled(product, 6);
      const auto with = [&](const Tensor& matrix) {
        return csr_left ? std::vector{matrix, operand} : std::vector{operand, matrix};
      };
      const auto y = strict_host().call("matmul", with(csr), attributes);
      CHECK(tenon::to_string(y.shape()) == tenon::to_string(product));
      CHECK(expanded(y) ==
            expanded(host().call("matmul", with(dense),
                                 attributes)));  // compared with numpy's rules elsewhere
      for (const std::size_t which : {0, 1})
        if (!row_sparse)
          CHECK(expanded(gradient(strict_host(), "matmul", with(csr), attributes, which, dy)) ==
                expanded(gradient(host(), "matmul", with(dense), attributes, which, dy)));
    }
  }
}

TEST_CASE(
    "matmul by a csr matrix with mostly empty columns, many values, or long rows, and by its "
    "transpose") {
  const struct {
    Pattern pattern;
    bool transposed;
  } cases[] = {{{"mostly empty", {50, 20'000}, 0.001}, true},
               {{"many values", {700, 400}, 0.4}, true},
               {{"many values", {700, 400}, 0.4}, false},
               {{"every other row", {704, 400}, 0.8, true}, false},
               {{"long rows", {2, 70'000}, 0.6}, true}};
  for (const auto& test : cases) {
    const auto& pattern = test.pattern;
    const auto left = sparse_of(pattern, tenon::f32, Storage::csr);
    const auto a = matrix(left, test.transposed);
    const auto right = dense_of({"", {a.columns, 17}, 1}, tenon::f32, 2);
    const auto expected = multiply(a, matrix(right)).values;
    for (const bool row_sparse : {false, true}) {
      CAPTURE(pattern.name);
      CAPTURE(row_sparse);
      const Attributes attributes{{"transpose_a", test.transposed},
                                  {"row_sparse_product", row_sparse}};
      const auto product = strict_host(4).call("matmul", {left, right}, attributes);
      CHECK(expanded(product) == expected);
      CHECK(same_bits(strict_host(1).call("matmul", {left, right}, attributes), product));
    }
  }
}

TEST_CASE(
    "matmul of few csr values by a transposed matrix with many columns reads only the needed "
    "elements") {
  const auto left = sparse_of({"", {30, 5'000}, 0.005}, tenon::f64, Storage::csr);
  const auto right = dense_of({"", {19, 5'000}, 1}, tenon::f64, 2);
  const auto expected = multiply(matrix(left), matrix(right, true)).values;
  CHECK(numbers(strict_host().call("matmul", {left, right}, {{"transpose_b", true}})) == expected);
}
