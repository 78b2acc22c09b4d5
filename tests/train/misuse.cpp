// Trainers and evaluators used by two threads, or after a move.
#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <tenon/host/evaluator.hpp>
#include <tenon/host/trainer.hpp>
#include <tenon/host/udf.hpp>
#include <thread>
#include <vector>

#include "digits.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"

using namespace tenon;

namespace {

Graph waiting_graph(Host& host) {
  Graph graph(host);
  const auto x = graph.input("x", f32, {-1, 1});
  const auto w = graph.variable("w", Tensor::from({1.f}, {1}));
  const auto product = graph.add("mul", {x, graph.add("held", {w})});
  graph.output("loss", graph.add("mean", {product}));
  return graph;
}

TrainerOptions plain_descent() {
  TrainerOptions options;
  options.loss = "loss";
  options.optimizer = "sgd";
  options.batch = 2;
  return options;
}

void check_refused(const std::vector<std::function<void()>>& uses, const std::string& message) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    CAPTURE(i);
    const auto failure = failure_of(uses[i]);
    CHECK(failure.kind == 2);
    CHECK(failure.message == message);
  }
}

}  // namespace

TEST_CASE("misuse: a second thread in a trainer or evaluator, and use after a move") {
  DigitsHost digits_host(2);
  auto& host = digits_host.host;
  host.add<probes::Copy>("held");
  const NamedTensors data{{"x", Tensor::from({1.f, 2.f}, {2, 1})}};
  Trainer trainer(waiting_graph(host), data, plain_descent());
  Evaluator evaluator(waiting_graph(host), {.loss = "loss", .scores = {}, .label = {}});
  const std::vector<std::function<void()>> training{
      [&] { trainer.step(); },
      [&] { trainer.step(data); },
      [&] { trainer.evaluate(data); },
      [&] { (void)trainer.steps(); },
      [&] { (void)trainer.epoch(); },
      [&] { (void)trainer.position(); },
      [&] { (void)trainer.examples(); },
      [&] { (void)trainer.steps_per_epoch(); },
      [&] { (void)trainer.graph(); },
      [&] { trainer.save_checkpoint("/nowhere/c.tenon"); },
      [&] { trainer.resume("/nowhere/c.tenon"); }};
  const std::vector<std::function<void()>> evaluating{[&] { evaluator.evaluate(data); }};
  probes::Copy::hold([&] { trainer.step(); },
                     [&] { check_refused(training, "the trainer is in use by another thread"); });
  CHECK(trainer.steps() == 1);
  probes::Copy::hold(
      [&] { evaluator.evaluate(data); },
      [&] { check_refused(evaluating, "the evaluator is in use by another thread"); });

  std::atomic<int> stepped = 0, wrong = 0;
  const auto work = [&] {
    for (int i = 0; i < 30; ++i) {
      const auto failure = failure_of([&] { trainer.step(); });
      stepped += failure.kind == 0;
      wrong += failure.kind != 0 && failure.message != "the trainer is in use by another thread";
    }
  };
  std::thread other(work);
  work();
  other.join();
  CHECK(wrong == 0);
  CHECK(trainer.steps() == static_cast<std::uint64_t>(1 + stepped));

  const auto trainer_moved = std::move(trainer);
  const auto evaluator_moved = std::move(evaluator);
  check_refused(training, "the trainer was moved from");
  check_refused(evaluating, "the evaluator was moved from");
  CHECK(failure_of([&] { (void)evaluator.inputs(); }).message == "the evaluator was moved from");
}
