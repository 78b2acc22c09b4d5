// add, sub, mul and div of sparse tensors against the same operations on dense ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sparse.hpp"

using namespace plugin_tests;

namespace {

double apply(const std::string& op, double l, double r) {
  return op == "add"   ? l + r
         : op == "sub" ? l - r
         : op == "mul" ? l * r
         : op == "div" ? l / r
                       : std::min(l, r);
}

/// The element of a tensor that broadcasts to a matrix.
double at(const Tensor& of, const Doubles& values, std::int64_t row, std::int64_t column) {
  const auto rank = of.shape().rank();
  const auto columns = rank > 0 ? of.shape()[-1] : 1, rows = rank > 1 ? of.shape()[-2] : 1;
  return values[static_cast<std::size_t>((rows == 1 ? 0 : row) * columns +
                                         (columns == 1 ? 0 : column))];
}

Doubles expected(const std::string& op, const Tensor& left, const Tensor& right,
                 const Shape& shape) {
  const auto l = expanded(left), r = expanded(right);
  Doubles result;
  for (std::int64_t row = 0; row < shape[0]; ++row)
    for (std::int64_t column = 0; column < shape[1]; ++column)
      result.push_back(apply(op, at(left, l, row, column), at(right, r, row, column)));
  return result;
}

bool same(const Doubles& found, const Doubles& reference, double tolerance) {
  if (found.size() != reference.size()) return false;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != reference[i] && !(std::isnan(found[i]) && std::isnan(reference[i])) &&
        !(std::abs(found[i] - reference[i]) <= tolerance * (1 + std::abs(reference[i]))))
      return false;
  return true;
}

double pair_tolerance(DType dtype) {
  return tenon::floating.has(dtype) ? 2 * epsilon(dtype) : 0;
}

const DType pair_dtypes[] = {tenon::f32,  tenon::f64, tenon::f16,
                             tenon::bf16, tenon::i32, tenon::i8};

}  // namespace

TEST_CASE("two sparse tensors are added, subtracted and multiplied in their storage format") {
  for (const auto& pattern : patterns())
    for (const auto storage : {Storage::csr, Storage::row_sparse})
      for (const auto dtype : pair_dtypes)
        for (const std::string op : {"add", "sub", "mul", "minimum"}) {
          CAPTURE(pattern.name);
          CAPTURE(op);
          CAPTURE(name(dtype));
          const auto left = sparse_of(pattern, dtype, storage, 1),
                     right = sparse_of(pattern, dtype, storage, 2);
          const auto y = strict_host(4).call(op, {left, right});
          CHECK(y.storage() == storage);
          CHECK(same(expanded(y), expected(op, left, right, pattern.shape), pair_tolerance(dtype)));
          CHECK(same_bits(strict_host(1).call(op, {left, right}), y));
          CHECK(y.stored() <= (op == "mul" ? std::min(left.stored(), right.stored())
                                           : left.stored() + right.stored()));
        }
}

TEST_CASE("a sparse tensor times or over a dense one that broadcasts to it keeps its positions") {
  for (const auto& pattern : patterns())
    for (const auto storage : {Storage::csr, Storage::row_sparse})
      for (const auto dtype : pair_dtypes) {
        const auto rows = pattern.shape[0], columns = pattern.shape[1];
        for (const Shape& shape : {pattern.shape, Shape{1, columns}, Shape{columns}, Shape{rows, 1},
                                   Shape{1}, Shape::scalar(), Shape{1, 1}}) {
          CAPTURE(pattern.name);
          CAPTURE(tenon::to_string(shape));
          CAPTURE(name(dtype));
          const auto sparse = sparse_of(pattern, dtype, storage);
          const auto dense =
              tensor(dtype, shape, expanded(dense_of({"", {1, shape.size()}, 1}, dtype, 5)));
          const bool has_zero = std::ranges::count(expanded(dense), 0.0) > 0;
          const auto product = strict_host().call("mul", {sparse, dense});
          CHECK(product.storage() == storage);
          CHECK(product.stored() == sparse.stored());
          CHECK(same(expanded(product), expected("mul", sparse, dense, pattern.shape),
                     pair_tolerance(dtype)));
          CHECK(same_bits(strict_host().call("mul", {dense, sparse}), product));
          if (has_zero) continue;
          const auto ratio = strict_host().call("div", {sparse, dense});
          CHECK(ratio.storage() == storage);
          CHECK(ratio.stored() == sparse.stored());
          CHECK(same(expanded(ratio), expected("div", sparse, dense, pattern.shape),
                     2 * epsilon(ratio.dtype())));
        }
      }
}

TEST_CASE("0 / 0 and infinity * 0 are nan, as for dense tensors") {
  for (const auto storage : {Storage::csr, Storage::row_sparse}) {
    const auto left = cast_storage(tensor(tenon::f32, {2, 3}, {0, 2, 0, 0, 0, 0}), storage);
    const auto right = tensor(tenon::f32, {2, 3}, {0, 4, 1, 1, inf, 1});
    for (const std::string op : {"div", "mul"}) {
      const auto y = strict_host().call(op, {left, right});
      CHECK(y.storage() == storage);
      CHECK(same(expanded(y), expected(op, left, right, {2, 3}), 0));
    }
    const auto sparse = cast_storage(tensor(tenon::f32, {2, 3}, {0, 0, 0, inf, 0, 1}), storage);
    CHECK(same(expanded(strict_host().call("mul", {left, sparse})),
               expected("mul", left, sparse, {2, 3}), 0));
    check_says(failure("div", {left, tensor(tenon::f32, {3}, {1, 0, 1})}),
               {"broadcast", "cast_storage"});
  }
}

TEST_CASE("strided dense tensors are read correctly") {
  const auto csr = sparse_of({"", {6, 4}, 0.5}, tenon::f32, Storage::csr);
  const auto memory = dense_of({"", {4, 6}, 1}, tenon::f32, 3);
  const std::int64_t strides[] = {1, 6};
  const auto turned =
      Tensor::borrow(const_cast<float*>(memory.data<float>()), tenon::f32, {6, 4}, strides);
  const auto plain = turned.make_contiguous();
  for (const auto& sparse : {csr, cast_storage(csr, Storage::row_sparse)}) {
    CHECK(same_bits(strict_host().call("mul", {sparse, turned}),
                    strict_host().call("mul", {sparse, plain})));
    CHECK(same(expanded(strict_host().call("mul", {sparse, turned})),
               expected("mul", sparse, plain, {6, 4}), 0));
  }
}

TEST_CASE("row_sparse tensors of more dimensions are multiplied by rows, matrices and scalars") {
  const Shape shape{5, 2, 3};
  const auto values = expanded(dense_of({"", {5, 6}, 0.6, true}, tenon::f32));
  const auto sparse = cast_storage(tensor(tenon::f32, shape, values), Storage::row_sparse);
  for (const Shape& other :
       {shape, Shape{2, 3}, Shape{3}, Shape{5, 1, 1}, Shape{2, 1}, Shape{5, 2, 1}, Shape{1}}) {
    CAPTURE(tenon::to_string(other));
    const auto dense =
        tensor(tenon::f32, other, expanded(dense_of({"", {1, other.size()}, 1}, tenon::f32, 6)));
    const auto y = strict_host().call("mul", {sparse, dense});
    CHECK(y.storage() == Storage::row_sparse);
    CHECK(expanded(y) == numbers(host().call("mul", {cast_storage(sparse, Storage::dense),
                                                     dense})));  // compared with loops elsewhere
  }
}

TEST_CASE("operations that are not sparse convert to dense as before") {
  const auto csr = sparse_of({"", {3, 3}, 0.5}, tenon::f32, Storage::csr),
             rows = cast_storage(csr, Storage::row_sparse);
  const auto dense = dense_of({"", {3, 3}, 1}, tenon::f32),
             wider = tensor(tenon::f32, {2, 3, 3}, Doubles(18, 2.0));
  const struct {
    const char* op;
    std::vector<Tensor> inputs;
  } cases[] = {{"add", {csr, dense}},   {"div", {csr, csr}},      {"div", {dense, csr}},
               {"mul", {csr, rows}},    {"mul", {csr, wider}},    {"equal", {csr, csr}},
               {"equal", {csr, dense}}, {"maximum", {csr, dense}}};
  for (const auto& test : cases) {
    const auto* op = test.op;
    const auto& inputs = test.inputs;
    CAPTURE(op);
    std::vector<Tensor> all_dense;
    for (const auto& input : inputs) all_dense.push_back(cast_storage(input, Storage::dense));
    CHECK(same_bits(host().call(op, inputs), host().call(op, all_dense)));
    CHECK_THROWS_AS(strict_host().call(op, inputs), tenon::Failure);
  }
}

TEST_CASE("gradients of sums and differences of sparse tensors do not read them") {
  const auto left = sparse_of({"", {4, 5}, 0.4}, tenon::f32, Storage::csr, 1),
             right = sparse_of({"", {4, 5}, 0.4}, tenon::f32, Storage::csr, 2);
  const auto weights = dense_of({"", {4, 5}, 1}, tenon::f32, 3);
  for (const std::string op : {"add", "sub"})
    for (const std::size_t which : {0, 1}) {
      tenon::Graph graph(strict_host());
      const auto l = graph.input("l", tenon::f32, {4, 5}), r = graph.input("r", tenon::f32, {4, 5});
      const auto y = graph.add("cast_storage", {graph.add(op, {l, r})}, {{"storage", "dense"}});
      const auto loss = graph.add("mul", {y, graph.constant("weights", weights)});
      graph.output("gradient", graph.gradient(loss, {which == 0 ? l : r}).at(0));
      auto reference = numbers(weights);
      if (op == "sub" && which == 1)
        for (auto& value : reference) value = -value;
      CHECK(numbers(tenon::Session(graph).run({{"l", left}, {"r", right}}).at("gradient")) ==
            reference);
    }
}
