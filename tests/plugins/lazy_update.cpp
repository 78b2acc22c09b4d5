// Optimizers with row_sparse gradients: stored rows take the step of the dense kernel, which
// optim.cpp compares with its formula; the others do not change, or with lazy_update=false take the
// step for a gradient of 0.
#include <doctest/doctest.h>

#include <cstring>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>

#include "../failure_of.hpp"
#include "numbers.hpp"
#include "strict_host.hpp"

using namespace plugin_tests;
using tenon::Storage;

namespace {

struct LazyOptimizer {
  std::string op;
  Attributes attributes;
  int moments;         // number of states with the weight's shape
  bool steps = false;  // whether a count of steps follows them
};

const LazyOptimizer lazy_optimizers[] = {
    {"sgd", {}, 0},
    {"sgd", {{"weight_decay", 0.25}}, 0},
    {"momentum", {{"weight_decay", 0.125}}, 1},
    {"nesterov", {}, 1},
    {"adagrad", {{"weight_decay", 0.25}}, 1},
    {"rmsprop", {}, 1},
    {"adam", {{"weight_decay", 0.25}}, 2, true},
    {"adamw", {}, 2, true},
};

/// The operands of one step.
struct Step {
  Tensor weight, grad;
  std::vector<Tensor> states;

  /// Returns the updated weight; the states are changed in place.
  Tensor take(tenon::Host& host, const LazyOptimizer& row, bool lazy = true) const {
    auto attributes = row.attributes;
    attributes.set("lazy_update", lazy);
    std::vector<Tensor> inputs{weight, grad, Tensor::from({0.25F}, Shape::scalar())};
    inputs.insert(inputs.end(), states.begin(), states.end());
    return host.call(row.op, inputs, attributes);
  }
};

Tensor row_ids(const Integers& ids) {
  return Tensor::from(ids, {static_cast<std::int64_t>(ids.size())});
}

Shape with_rows(Shape shape, std::int64_t count) {
  shape.set(0, count);
  return shape;
}

Step make_step(const LazyOptimizer& row, DType dtype, const Shape& shape, const Integers& ids) {
  Step step;
  step.weight = arbitrary(dtype, shape, -1, 1, 1);
  const auto values =
      arbitrary(dtype, with_rows(shape, static_cast<std::int64_t>(ids.size())), -1, 1, 2);
  step.grad = Tensor::row_sparse(values, row_ids(ids), shape);
  for (int i = 0; i < row.moments; ++i)
    step.states.push_back(arbitrary(dtype == tenon::f64 ? dtype : tenon::f32, shape, 0.25, 1, 3));
  if (row.steps) step.states.push_back(Tensor::from({std::int64_t{4}}, Shape::scalar()));
  return step;
}

Step copy_of(const Step& step) {
  Step copy{step.weight.clone(), step.grad, {}};
  for (const auto& state : step.states) copy.states.push_back(state.clone());
  return copy;
}

std::byte* row_at(const Tensor& tensor, std::int64_t row) {
  return static_cast<std::byte*>(tensor.data()) + tensor.bytes() / tensor.shape()[0] * row;
}

void copy_row(const Tensor& from, std::int64_t there, const Tensor& to, std::int64_t here) {
  std::memcpy(row_at(to, here), row_at(from, there),
              static_cast<std::size_t>(to.bytes() / to.shape()[0]));
}

/// The rows of a tensor, or of states with rows.
Tensor taken_rows(const Tensor& tensor, const Integers& ids) {
  if (tensor.shape().rank() == 0) return tensor.clone();
  auto part = Tensor::empty(tensor.dtype(),
                            with_rows(tensor.shape(), static_cast<std::int64_t>(ids.size())));
  for (std::size_t i = 0; i < ids.size(); ++i)
    copy_row(tensor, ids[i], part, static_cast<std::int64_t>(i));
  return part;
}

void put_rows(const Tensor& part, const Integers& ids, Tensor& whole) {
  if (whole.shape().rank() == 0) whole = part;
  for (std::size_t i = 0; i < ids.size() && whole.shape().rank() > 0; ++i)
    copy_row(part, static_cast<std::int64_t>(i), whole, ids[i]);
}

/// A dense step of the stored rows only, written back into the previous values.
Step expected_lazy(tenon::Host& host, const LazyOptimizer& row, const Step& before,
                   const Integers& ids) {
  Step part{taken_rows(before.weight, ids), before.grad.stored_values(), {}};
  for (const auto& state : before.states) part.states.push_back(taken_rows(state, ids));
  part.weight = part.take(host, row);
  auto after = copy_of(before);
  put_rows(part.weight, ids, after.weight);
  for (std::size_t i = 0; i < after.states.size(); ++i)
    put_rows(part.states[i], ids, after.states[i]);
  return after;
}

void check_same(const Step& found, const Step& expected) {
  CHECK(same_bits(found.weight, expected.weight));
  REQUIRE(found.states.size() == expected.states.size());
  for (std::size_t i = 0; i < found.states.size(); ++i)
    CHECK(same_bits(found.states[i], expected.states[i]));
}

/// In a graph that updates the weight in place.
Tensor updated_in_place(tenon::Host& host, const LazyOptimizer& row, const Step& step) {
  tenon::Graph graph(host);
  const auto weight = graph.variable("weight", step.weight);
  const auto grad = graph.input("grad", step.weight.dtype(), step.weight.shape()),
             rate = graph.input("rate", tenon::f32, Shape::scalar());
  graph.update(weight, graph.add(row.op, {weight, grad, rate}, row.attributes));
  tenon::Session session(graph, {.seed = 0, .training = true, .device = {}, .trace = {}});
  session.run({{"grad", step.grad}, {"rate", Tensor::from({0.25F}, Shape::scalar())}});
  return session.graph().tensor(session.graph().find("weight"));
}

const struct {
  Shape shape;
  Integers ids;
} places[] = {{{9, 3}, {0, 4, 8}}, {{5, 2, 7}, {1, 2}},
              {{4}, {3}},          {{3, 2}, {}},
              {{3, 2}, {0, 1, 2}}, {{1, 1}, {0}},
              {{3, 0}, {1}},       {{3000, 40}, {0, 1, 2, 700, 1500, 2998}}};

}  // namespace

TEST_CASE("lazy update: rows of the gradient take the dense step, all others do not change") {
  StrictHost one(1), four(4);
  for (const auto& row : lazy_optimizers)
    for (const auto dtype : floating_dtypes)
      for (const auto& place : places) {
        const auto& shape = place.shape;
        const auto& ids = place.ids;
        CAPTURE(row.op);
        CAPTURE(dtype);
        CAPTURE(shape);
        const auto before = make_step(row, dtype, shape, ids);
        const auto expected = expected_lazy(one, row, before, ids);
        for (auto* host : {&one, &four}) {
          auto found = copy_of(before);
          found.weight = found.take(*host, row);
          check_same(found, expected);
        }
      }
}

TEST_CASE("lazy_update=false has the bits of the dense gradient's step") {
  StrictHost four(4);
  for (const auto& row : lazy_optimizers)
    for (const auto dtype : floating_dtypes)
      for (const auto& place : places) {
        const auto& shape = place.shape;
        const auto& ids = place.ids;
        CAPTURE(row.op);
        CAPTURE(dtype);
        CAPTURE(shape);
        auto found = make_step(row, dtype, shape, ids), expected = copy_of(found);
        expected.grad = cast_storage(found.grad, Storage::dense);
        found.weight = found.take(four, row, false);
        expected.weight = expected.take(four, row, false);
        check_same(found, expected);
      }
}

TEST_CASE(
    "sgd without decay: lazy and dense updates are bit-identical; with decay or moments they "
    "differ") {
  StrictHost four(4);
  for (const auto& row : lazy_optimizers) {
    CAPTURE(row.op);
    auto lazy = make_step(row, tenon::f32, {3000, 40}, {5, 6, 2000}), dense = copy_of(lazy);
    dense.grad = cast_storage(lazy.grad, Storage::dense);
    lazy.weight = lazy.take(four, row);
    dense.weight = dense.take(four, row);
    bool same = same_bits(lazy.weight, dense.weight);
    for (std::size_t i = 0; i < lazy.states.size(); ++i)
      same = same && same_bits(lazy.states[i], dense.states[i]);
    CHECK(same == (&row == &lazy_optimizers[0]));
  }
}

TEST_CASE("lazy update in a graph changes the variable in place, with the same bits") {
  StrictHost four(4);
  for (const auto& row : lazy_optimizers)
    for (const auto& place : places) {
      const auto& shape = place.shape;
      const auto& ids = place.ids;
      CAPTURE(row.op);
      CAPTURE(shape);
      auto step = make_step(row, tenon::f32, shape, ids);
      const auto found = updated_in_place(four, row, step);
      for (auto& state : step.states)
        state = Tensor::zeros(state.dtype(), state.shape());  // as at the start of a session
      CHECK(same_bits(found, step.take(four, row)));
    }
}

TEST_CASE("lazy update: a row_sparse weight is an error") {
  StrictHost strict(1);
  auto step = make_step(lazy_optimizers[0], tenon::f32, {9, 3}, {2});
  step.weight = cast_storage(step.weight, Storage::row_sparse);
  CHECK(failure_of([&] {
          step.take(strict, lazy_optimizers[0]);
        }).message.find("sgd has no kernel for these storages") != std::string::npos);
}
