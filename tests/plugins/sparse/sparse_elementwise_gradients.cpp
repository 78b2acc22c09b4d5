// Gradients of elementwise functions of sparse tensors: they equal those of dense tensors, are
// stored sparse if they are 0 at all positions that a sparse operand does not store, and need no
// conversion to dense.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sparse.hpp"

using namespace plugin_tests;

namespace {

const DType gradient_dtypes[] = {tenon::f32, tenon::f64, tenon::f16};

/// The gradient by dense kernels, which are compared with finite differences elsewhere.
Doubles dense_gradient(const std::string& op, const std::vector<Tensor>& inputs,
                       const Attributes& attributes, std::size_t which, const Tensor& weights) {
  std::vector<Tensor> dense;
  for (const auto& input : inputs) dense.push_back(cast_storage(input, Storage::dense));
  return expanded(
      gradient(host(), op, dense, attributes, which, cast_storage(weights, Storage::dense)));
}

bool near(const Doubles& found, const Doubles& expected, DType dtype) {
  if (found.size() != expected.size()) return false;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (std::abs(found[i] - expected[i]) > 8 * epsilon(dtype) * (1 + std::abs(expected[i])))
      return false;
  return true;
}

/// The shapes of dense tensors that broadcast to a matrix.
std::vector<Shape> shapes_beside(const Shape& matrix) {
  return {matrix, {1, matrix[1]}, {matrix[1]}, {matrix[0], 1}, {1}, Shape::scalar(), {1, 1}};
}

}  // namespace

TEST_CASE(
    "the gradient of a function of a sparse tensor keeps its positions if the derivative at 0 is "
    "0, and is dense otherwise") {
  const struct {
    const char* op;
    Attributes attributes;
    bool keeps;
  } functions[] = {{"square", {}, true},
                   {"relu", {}, true},
                   {"quadratic", {{"a", 2.0}}, true},
                   {"quadratic", {{"a", 2.0}, {"b", 3.0}}, false},
                   {"tanh", {}, false},  // reads its output
                   {"sin", {}, false}};  // dual numbers
  for (const auto& function : functions)
    for (const auto& pattern : patterns())
      for (const auto storage : sparse_storages)
        for (const auto dtype : gradient_dtypes) {
          const std::string op = function.op;
          CAPTURE(op);
          CAPTURE(pattern.name);
          CAPTURE(name(dtype));
          const auto x = sparse_of(pattern, dtype, storage),
                     weights = dense_of({"", pattern.shape, 1}, dtype, 3);
          const auto dx = gradient(strict_host(), op, {x}, function.attributes, 0, weights);
          CHECK(dx.storage() == (function.keeps ? storage : Storage::dense));
          if (function.keeps) CHECK(dx.stored() == x.stored());
          CHECK(
              near(expanded(dx), dense_gradient(op, {x}, function.attributes, 0, weights), dtype));
          CHECK(same_bits(gradient(strict_host(1), op, {x}, function.attributes, 0, weights), dx));
        }
}

TEST_CASE("a sparse output gradient gives a gradient with the same positions, for every function") {
  for (const auto& pattern : patterns())
    for (const auto storage : sparse_storages)
      for (const std::string op : {"square", "tanh", "sin", "neg"})
        for (const unsigned seed : {1U, 2U}) {  // the positions of x, and others
          CAPTURE(pattern.name);
          CAPTURE(op);
          const auto x = sparse_of(pattern, tenon::f32, storage, 1),
                     weights = sparse_of(pattern, tenon::f32, storage, seed);
          const auto dx = gradient(strict_host(), op, {x}, {}, 0, weights);
          CHECK(dx.storage() == storage);
          CHECK(dx.stored() <= weights.stored());
          CHECK(near(expanded(dx), dense_gradient(op, {x}, {}, 0, weights), tenon::f32));
          const auto of_dense =
              gradient(strict_host(), op, {cast_storage(x, Storage::dense)}, {}, 0, weights);
          CHECK(of_dense.storage() == storage);
          CHECK(of_dense.stored() == weights.stored());
          CHECK(expanded(of_dense) == expanded(dx));
        }
}

TEST_CASE(
    "gradients of products and quotients of a sparse tensor with a dense one that broadcasts to "
    "it") {
  for (const std::string op : {"mul", "div"})
    for (const auto& pattern : patterns())
      for (const auto storage : sparse_storages)
        for (const auto dtype : gradient_dtypes)
          for (const auto& shape : shapes_beside(pattern.shape)) {
            CAPTURE(op);
            CAPTURE(pattern.name);
            CAPTURE(name(dtype));
            CAPTURE(tenon::to_string(shape));
            const auto sparse = sparse_of(pattern, dtype, storage);
            const auto dense =
                tensor(dtype, shape, expanded(dense_of({"", {1, shape.size()}, 1}, dtype, 5)));
            const auto weights = dense_of({"", pattern.shape, 1}, dtype, 3);
            for (const std::size_t which : {0, 1}) {
              const auto found = gradient(strict_host(), op, {sparse, dense}, {}, which, weights);
              CHECK(near(expanded(found), dense_gradient(op, {sparse, dense}, {}, which, weights),
                         dtype));
              CHECK(found.storage() ==
                    (which == 1 && shape == pattern.shape ? storage : Storage::dense));
              CHECK(same_bits(gradient(strict_host(1), op, {sparse, dense}, {}, which, weights),
                              found));
            }
            const auto dense_first =
                gradient(strict_host(), "mul", {dense, sparse}, {}, 0, weights);
            CHECK(same_bits(dense_first,
                            gradient(strict_host(), "mul", {sparse, dense}, {}, 1, weights)));
          }
}

TEST_CASE("gradients of products of two sparse tensors are stored at the other one's positions") {
  for (const auto& pattern : patterns())
    for (const auto storage : sparse_storages) {
      CAPTURE(pattern.name);
      const auto left = sparse_of(pattern, tenon::f64, storage, 1),
                 right = sparse_of(pattern, tenon::f64, storage, 2);
      const auto weights = dense_of({"", pattern.shape, 1}, tenon::f64, 3);
      for (const std::size_t which : {0, 1}) {
        const auto found = gradient(strict_host(), "mul", {left, right}, {}, which, weights);
        CHECK(found.storage() == storage);
        CHECK(found.stored() == (which == 0 ? right : left).stored());
        CHECK(expanded(found) == dense_gradient("mul", {left, right}, {}, which, weights));
      }
    }
}

TEST_CASE("gradients through row_sparse tensors of more dimensions") {
  const Shape shape{5, 2, 3};
  const auto sparse = cast_storage(
      tensor(tenon::f32, shape, expanded(dense_of({"", {5, 6}, 0.6, true}, tenon::f32))),
      Storage::row_sparse);
  const auto weights =
      tensor(tenon::f32, shape, expanded(dense_of({"", {5, 6}, 1}, tenon::f32, 3)));
  for (const Shape& other :
       {shape, Shape{2, 3}, Shape{3}, Shape{5, 1, 1}, Shape{2, 1}, Shape{5, 2, 1}, Shape{1}}) {
    CAPTURE(tenon::to_string(other));
    const auto dense =
        tensor(tenon::f32, other, expanded(dense_of({"", {1, other.size()}, 1}, tenon::f32, 6)));
    for (const std::size_t which : {0, 1})
      CHECK(expanded(gradient(strict_host(), "mul", {sparse, dense}, {}, which, weights)) ==
            dense_gradient("mul", {sparse, dense}, {}, which, weights));
  }
}

TEST_CASE("0 / 0 has nan gradients, as for dense tensors") {
  for (const auto storage : sparse_storages) {
    const auto left = cast_storage(tensor(tenon::f32, {2, 3}, {0, 2, 0, 0, 0, 5}), storage);
    const auto right = cast_storage(tensor(tenon::f32, {2, 3}, {0, 4, 1, 0, 0, 0}), storage);
    const auto weights = tensor(tenon::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
    for (const std::size_t which : {0, 1}) {
      const auto found = expanded(gradient(host(), "div", {left, right}, {}, which, weights));
      const auto expected = dense_gradient("div", {left, right}, {}, which, weights);
      for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK((found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]))));
    }
  }
}
