// A table of 10 million rows of which a step uses 100: memory is limited to the use at the start of
// training plus half a table, so no gradient, moment or weight of the table's size can be
// allocated. Skipped under sanitizers, see memory_limit.hpp.
#include <doctest/doctest.h>

#include <cmath>

#include "../failure_of.hpp"
#include "../train/digits.hpp"
#include "memory_limit.hpp"

using namespace tenon;

namespace {

constexpr std::int64_t rows = 10'000'000, columns = 4, table_bytes = rows * columns * 4,
                       touched = 100;

std::int64_t touched_row(std::int64_t i) {
  return i * (rows / touched) + 7 * i;
}

/// The sum of the looked-up rows of a table that is initially zero: the gradient of each of their
/// elements is 1 / touched.
Graph sum_of_rows(Host& host, bool sparse_grad) {
  Graph graph(host);
  const auto table = graph.variable("table", Tensor::zeros(f32, {rows, columns}));
  const auto found =
      graph.add("embedding", {graph.input("row", i32, {-1, 1}), table},
                {{"input_dim", rows}, {"output_dim", columns}, {"sparse_grad", sparse_grad}});
  graph.output(
      "loss",
      graph.add("sum", {graph.add("mean", {found}, {{"axis", std::vector<std::int64_t>{0}}})}));
  return graph;
}

NamedTensors every_touched_row() {
  std::vector<std::int32_t> numbers;
  for (std::int64_t i = 0; i < touched; ++i)
    numbers.push_back(static_cast<std::int32_t>(touched_row(i)));
  return {{"row", Tensor::from(numbers, {touched, 1})}};
}

/// Two batches for each step, so that gradients are summed, then clipped.
TrainerOptions options_for(const Attributes& parameters) {
  TrainerOptions options;
  options.loss = "loss";
  options.optimizer = "adam";
  options.parameters = parameters;
  options.schedule.rate = 0.5;
  options.batch = touched / 2;
  options.accumulate = 2;
  options.clip_norm = 0.01;
  return options;
}

/// With a constant gradient, each of Adam's steps has the length of the learning rate.
void check_steps(const Tensor& table, int steps) {
  std::int64_t changed = 0;
  for (const auto value : table.values<float>()) changed += value != 0;
  CHECK(changed == touched * columns);
  for (std::int64_t i = 0; i < touched; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      CHECK(table.data<float>()[touched_row(i) * columns + j] ==
            doctest::Approx(-0.5 * steps).epsilon(1e-3));
}

}  // namespace

TEST_CASE("memory: trains a table of 10 million rows without room for a second one" *
          doctest::skip(!memory_can_be_limited)) {
  DigitsHost strict(2, true);
  for (const bool lazy : {true, false}) {
    CAPTURE(lazy);
    Trainer trainer(sum_of_rows(strict.host, true), every_touched_row(),
                    options_for({{"lazy_update", lazy}}));
    {
      const MemoryLimit limit(table_bytes / 2);
      for (int step = 0; step < 3; ++step) trainer.step();
    }
    check_steps(trainer.graph().tensor(trainer.graph().find("table")), 3);
  }
}

TEST_CASE("memory: a dense gradient of the same table exceeds the same limit" *
          doctest::skip(!memory_can_be_limited)) {
  DigitsHost digits_host(2);
  Trainer trainer(sum_of_rows(digits_host.host, false), every_touched_row(), options_for({}));
  const MemoryLimit limit(table_bytes / 2);
  const auto failure = failure_of([&] { trainer.step(); });
  CHECK(failure.kind == static_cast<int>(FailureKind::failed));
  CHECK(failure.message.find("memory") != std::string::npos);
}
