// row_sparse gradients of embedding, and their clipping.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>

#include "plugins/numbers.hpp"
#include "plugins/strict_host.hpp"
#include "plugins/table_gradient.hpp"
#include "tensor/expanded.hpp"

using namespace plugin_tests;
using tenon::Storage;

namespace {

Tensor run_table_gradient(tenon::Host& host, const Tensor& indices, const Tensor& factors,
                          const Shape& table, bool sparse) {
  const auto ones =
      tensor(factors.dtype(), table, Doubles(static_cast<std::size_t>(table.size()), 1));
  return tenon::Session(table_gradient(host, indices, factors, ones, sparse))
      .run({})
      .at("gradient");
}

Shape with_columns(const Shape& shape, std::int64_t columns) {
  auto wider = Shape::of_rank(shape.rank() + 1);
  for (int axis = 0; axis < shape.rank(); ++axis) wider.set(axis, shape[axis]);
  wider.set(-1, columns);
  return wider;
}

/// [100000, 3] with two rows.
Tensor two_rows(DType dtype, const Doubles& values) {
  return Tensor::row_sparse(tensor(dtype, {2, 3}, values),
                            Tensor::from({std::int64_t{7}, std::int64_t{99999}}, {2}), {100000, 3});
}

}  // namespace

TEST_CASE(
    "embedding with sparse_grad: the gradient has the used rows, ascending, each with the sum over "
    "its uses") {
  StrictHost one(1), four(4);
  for (const Shape& shape : {Shape::scalar(), Shape{0}, Shape{1}, Shape{300}, Shape{3, 70}})
    for (const auto dtype : floating_dtypes)
      for (const auto index : integer_dtypes) {
        CAPTURE(dtype);
        CAPTURE(shape);
        const std::int64_t columns = 5, table = 100;
        const auto indices = arbitrary(index, shape, 0, 99, 3);
        auto whole = doubles(arbitrary(tenon::i32, with_columns(shape, columns), -3, 3,
                                       4));  // integers: their sums are exact
        const auto factors = tensor(dtype, with_columns(shape, columns), whole);
        Doubles expected(static_cast<std::size_t>(table * columns), 0);
        std::set<double> used;
        const auto numbers_of = doubles(indices);
        for (std::size_t i = 0; i < whole.size(); ++i) {
          const auto row = static_cast<std::size_t>(numbers_of[i / 5]);
          expected[row * 5 + i % 5] += whole[i];
          used.insert(numbers_of[i / 5]);
        }
        const auto gradient = run_table_gradient(one, indices, factors, {table, columns}, true);
        REQUIRE(gradient.storage() == Storage::row_sparse);
        CHECK(doubles(gradient.row_ids()) == Doubles(used.begin(), used.end()));
        CHECK(expanded(gradient) == expected);
        CHECK(same_bits(gradient,
                        run_table_gradient(four, indices, factors, {table, columns}, true)));
      }
}

TEST_CASE(
    "embedding with sparse_grad: the bits are those of the dense gradient, on any number of "
    "threads") {
  StrictHost one(1), four(4);
  const struct { std::int64_t rows, columns; } tables[] = {{1000, 33}, {100000, 2}};
  for (const auto& table : tables)
    for (const auto dtype : floating_dtypes) {
      CAPTURE(table.rows);
      CAPTURE(dtype);
      const auto indices = arbitrary(tenon::i64, {4000}, 0, static_cast<double>(table.rows - 1), 1);
      const auto factors = arbitrary(dtype, {4000, table.columns}, -1, 1, 2);
      const Shape shape{table.rows, table.columns};
      const auto dense = run_table_gradient(four, indices, factors, shape, false);
      CHECK(dense.storage() == Storage::dense);
      for (auto* host : {&one, &four}) {
        const auto sparse = run_table_gradient(*host, indices, factors, shape, true);
        CHECK(sparse.stored() < 4000);
        CHECK(same_bits(cast_storage(sparse, Storage::dense), dense));
      }
    }
}

TEST_CASE("the norm of gradients includes the stored elements of row_sparse and csr gradients") {
  StrictHost host(2);
  const auto norm_scale = [&](const std::vector<Tensor>& grads) {
    return doubles(host.host.call("global_norm_scale", grads, {{"max_norm", 1.0}})).at(0);
  };
  for (const auto dtype : floating_dtypes) {
    const auto sparse = two_rows(dtype, {1, 0, -2, 0, 4, 0}),
               dense = tensor(tenon::f32, {2}, {2, 0});  // squares: 21 and 4
    const auto scale = static_cast<double>(static_cast<float>(1 / (5 + 1e-6)));
    CHECK(norm_scale({sparse, dense}) == scale);
    CHECK(norm_scale({dense, cast_storage(sparse, Storage::csr)}) == scale);
    CHECK(norm_scale({two_rows(dtype, {0, 0, 0, 0, 0, 0})}) == 1);
  }
}

TEST_CASE("scale_by keeps the storage format, its indices, and the implicit zeros") {
  StrictHost host(2);
  const auto factor = Tensor::from({0.5F}, Shape::scalar());
  for (const auto dtype : floating_dtypes) {
    const auto sparse = two_rows(dtype, {1, 0, -2, 3, 4, 5});
    for (const auto& input : {sparse, cast_storage(sparse, Storage::csr)}) {
      const auto scaled = host.host.call("scale_by", {input, factor});
      REQUIRE(scaled.storage() == input.storage());
      CHECK(scaled.stored() == input.stored());
      auto expected = expanded(input);
      for (auto& value : expected) value *= 0.5;
      CHECK(expanded(scaled) == expected);
    }
    const auto nothing =
        Tensor::row_sparse(Tensor::empty(dtype, {0, 3}), Tensor::empty(tenon::i64, {0}), {9, 3});
    CHECK(host.host.call("scale_by", {nothing, factor}).stored() == 0);
  }
}
