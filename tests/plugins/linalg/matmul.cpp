// matmul against loops over every index, following numpy.matmul's rules.
#include <doctest/doctest.h>

#include <algorithm>

#include "plugins/check.hpp"

namespace {

struct Sides {
  bool transpose_a = false, transpose_b = false;
};

/// The matrix at `batch` of an operand whose batch axes broadcast.
const double* matrix_of(const DoubleArray& operand, const std::vector<std::int64_t>& batch) {
  const int axes = operand.shape.rank() - 2;
  std::int64_t at = 0;
  for (int axis = 0; axis < axes; ++axis) {
    const auto index = batch[batch.size() - static_cast<std::size_t>(axes - axis)];
    at = at * operand.dim(axis) + (operand.dim(axis) == 1 ? 0 : index);
  }
  return operand.values.data() + at * operand.dim(-2) * operand.dim(-1);
}

tenon::Shape shape_of(const std::vector<std::int64_t>& dims) {
  return {dims.data(), static_cast<int>(dims.size())};
}

DoubleArray multiply(DoubleArray a, DoubleArray b, Sides sides) {
  const bool vector_a = a.shape.rank() == 1, vector_b = b.shape.rank() == 1;
  if (vector_a) a.shape = {1, a.dim(0)};
  if (vector_b) b.shape = {b.dim(0), 1};
  const auto rows = a.dim(sides.transpose_a ? -1 : -2), inner = a.dim(sides.transpose_a ? -2 : -1);
  const auto columns = b.dim(sides.transpose_b ? -2 : -1);
  std::vector<std::int64_t> batch(
      static_cast<std::size_t>(std::max(a.shape.rank(), b.shape.rank()) - 2), 1);
  for (const auto* operand : {&a, &b})
    for (int axis = 0; axis < operand->shape.rank() - 2; ++axis) {
      auto& joined =
          batch[batch.size() - static_cast<std::size_t>(operand->shape.rank() - 2 - axis)];
      if (operand->dim(axis) != 1) joined = operand->dim(axis);
    }
  auto result_dims = batch;
  if (!vector_a) result_dims.push_back(rows);
  if (!vector_b) result_dims.push_back(columns);
  auto result = zeros(shape_of(result_dims));
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const auto column = i % columns, row = i / columns % rows;
    auto rest = i / columns / rows;
    auto index = batch;
    for (auto axis = batch.size(); axis-- > 0; rest /= batch[axis])
      index[axis] = rest % batch[axis];
    const auto *left = matrix_of(a, index), *right = matrix_of(b, index);
    for (std::int64_t k = 0; k < inner; ++k)
      result[i] += left[sides.transpose_a ? k * rows + row : row * inner + k] *
                   right[sides.transpose_b ? column * inner + k : k * columns + column];
  }
  return result;
}

Case product_case(tenon::DType dtype, const tenon::Shape& a, const tenon::Shape& b, Sides sides) {
  return {tenon::join(dtype, " ", a, " x ", b, " transposed: ", sides.transpose_a, " ",
                      sides.transpose_b),
          "linalg",
          "matmul",
          {{"transpose_a", sides.transpose_a}, {"transpose_b", sides.transpose_b}},
          {Array(dtype, random_doubles(a, 1)), Array(dtype, random_doubles(b, 2))},
          [sides](const std::vector<DoubleArray>& in) {
            return std::vector{multiply(in[0], in[1], sides)};
          },
          {0, 1},
          dtype == tenon::f64 ? 1e-8 : 1e-4};
}

}  // namespace

TEST_CASE("matmul matches numpy, and its gradient the oracle's") {
  const struct {
    tenon::Shape a, b;
    Sides sides = {};
  } rows[] = {
      {{1, 1}, {1, 1}},
      {{3, 4}, {4, 5}},
      {{4, 3}, {4, 5}, {true, false}},
      {{3, 4}, {5, 4}, {false, true}},
      {{4, 3}, {5, 4}, {true, true}},
      {{4}, {4}},
      {{4}, {4, 5}},
      {{4}, {5, 4}, {false, true}},
      {{3, 4}, {4}},
      {{4, 3}, {4}, {true, false}},
      {{2, 3, 4}, {4}},
      {{4}, {2, 4, 5}},
      {{2, 3, 4}, {2, 4, 5}},
      {{2, 3, 4}, {4, 5}},
      {{2, 4, 3}, {4, 5}, {true, false}},
      {{3, 4}, {2, 4, 5}},
      {{5, 1, 3, 4}, {2, 4, 2}},
      {{5, 1, 4, 3}, {2, 2, 4}, {true, true}},
      {{1, 3, 4}, {2, 1, 4, 5}},
      {{2, 1, 1, 2}, {1, 3, 2, 1}},
      {{130, 7}, {7, 300}},    // more than one tile along each axis
      {{131, 259}, {259, 3}},  // gradients of more than one tile
      {{259, 131}, {3, 259}, {true, true}},
      {{3, 65, 40}, {40, 33}},  // the batch becomes additional rows
      {{64, 2, 3}, {64, 3, 2}},
      {{0, 4}, {4, 5}},
      {{3, 0}, {0, 5}},  // empty sums: zeros
      {{3, 4}, {4, 0}},
      {{0, 3, 4}, {4, 5}},
      {{0, 3, 4}, {1, 4, 5}},
      {{1, 3, 4}, {0, 4, 5}},
      {{0}, {0}},
  };
  for (const auto& row : rows)
    for (const auto dtype : {tenon::f32, tenon::f64})
      check(product_case(dtype, row.a, row.b, row.sides));
}

TEST_CASE("matmul refuses inconsistent arguments with the reason") {
  const struct {
    tenon::Shape a, b;
    Sides sides;
    const char* reason;
  } rows[] = {
      {tenon::Shape::scalar(), {4, 5}, {}, "needs matrices or vectors, not scalars"},
      {{3, 4}, {3, 5}, {}, "a has 4 columns but b has 3 rows"},
      {{3, 4}, {5, 3}, {true, false}, "transposed a has 3 columns but b has 5 rows"},
      {{3, 4}, {5, 3}, {false, true}, "a has 4 columns but transposed b has 3 rows"},
      {{4}, {5}, {}, "a has 4 columns but b has 5 rows"},
      {{4}, {4, 5}, {true, false}, "transpose_a needs a matrix, not a vector"},
      {{4, 4}, {4}, {false, true}, "transpose_b needs a matrix, not a vector"},
      {{2, 3, 4}, {3, 4, 5}, {}, "batch axes [2] and [3] do not broadcast"},
  };
  for (const auto& row : rows)
    CHECK(error_of(product_case(tenon::f32, row.a, row.b, row.sides)) == row.reason);
}

TEST_CASE("matmul infers unknown shapes") {
  constexpr auto u = tenon::unknown;
  const struct {
    tenon::Shape a, b, a_after, b_after, product;
  } rows[] = {
      {{u, 3, 4}, {4, u}, {u, 3, 4}, {4, u}, {u, 3, u}},
      {{3, u}, {4, 5}, {3, 4}, {4, 5}, {3, 5}},
      {{3, 4}, {u, 5}, {3, 4}, {4, 5}, {3, 5}},
      {{u, 3, 4}, {2, 4, 5}, {u, 3, 4}, {2, 4, 5}, {2, 3, 5}},
      {{2, 3, 4}, {u, 4, 5}, {2, 3, 4}, {u, 4, 5}, {2, 3, 5}},
      {{u, 3, 4}, {1, 4, 5}, {u, 3, 4}, {1, 4, 5}, {u, 3, 5}},
      {{1, 3, 4}, {u, 4, 5}, {1, 3, 4}, {u, 4, 5}, {u, 3, 5}},
      {tenon::Shape(), {4, 5}, tenon::Shape(), {4, 5}, tenon::Shape()},
  };
  for (const auto& row : rows) {
    const auto types =
        PluginOperator("linalg", "matmul", {}).infer({{row.a, tenon::f32}, {row.b, tenon::f32}});
    CAPTURE(tenon::join(row.a, " x ", row.b));
    CHECK(tenon::to_string(types.inputs[0].shape) == tenon::to_string(row.a_after));
    CHECK(tenon::to_string(types.inputs[1].shape) == tenon::to_string(row.b_after));
    CHECK(tenon::to_string(types.outputs[0].shape) == tenon::to_string(row.product));
  }
}
