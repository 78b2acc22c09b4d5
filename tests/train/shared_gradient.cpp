// Variables that share a gradient: addition passes the gradient of its sum to both operands.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "digits.hpp"

using namespace tenon;

namespace {

constexpr double rate = 0.02, left = 0.5, right = 0.25;
const std::vector<float> xs{1, 2, 3, 1, 2, 3, -1, -2}, ys{2, 1, 0, 1, 2, 1, 1, 3};

/// y = x * (left + right), in groups of four examples.
struct Sum {
  DigitsHost digits_host;
  TrainerOptions options;

  explicit Sum(std::int64_t accumulate, double clip_norm = 0,
               const std::string& optimizer = "sgd") {
    options.loss = "error";
    options.optimizer = optimizer;
    options.schedule.rate = rate;
    options.batch = 4 / accumulate;
    options.accumulate = accumulate;
    options.clip_norm = clip_norm;
    options.shuffle = false;
  }
  Trainer trainer() {
    Graph graph(digits_host.host);
    const auto x = graph.input("x", f32, {-1, 1}), y = graph.input("y", f32, {-1, 1});
    const auto sum = graph.add(
        "test_add", {graph.variable("left", Tensor::from({static_cast<float>(left)}, {1, 1})),
                     graph.variable("right", Tensor::from({static_cast<float>(right)}, {1, 1}))});
    const auto product =
        graph.add("fully_connected", {x, sum}, {{"num_hidden", 1}, {"no_bias", true}});
    graph.output("error", graph.add("mean_squared_error", {product, y}, {}, "error"));
    return {graph, {{"x", Tensor::from(xs, {8, 1})}, {"y", Tensor::from(ys, {8, 1})}}, options};
  }
};

float weight(const Trainer& trainer, const char* name) {
  const auto graph = trainer.graph();
  return graph.tensor(graph.find(name)).values<float>()[0];
}

}  // namespace

TEST_CASE(
    "two variables with one gradient train as computed by hand, for any number of batches per "
    "step") {
  for (const double clip_norm : {0.0, 0.5})
    for (const std::int64_t accumulate : {1, 2, 4}) {
      CAPTURE(clip_norm);
      CAPTURE(accumulate);
      Sum sum(accumulate, clip_norm);
      auto trainer = sum.trainer();
      double by_hand[] = {left, right};
      for (std::size_t step = 0; step < 5; ++step) {
        double slope = 0;
        for (std::size_t i = step % 2 * 4; i < step % 2 * 4 + 4; ++i) {
          const auto x = static_cast<double>(xs[i]), y = static_cast<double>(ys[i]);
          slope += 2 * (x * (by_hand[0] + by_hand[1]) - y) * x / 4;
        }
        if (clip_norm > 0)
          slope *= std::min(
              1.0, clip_norm / (std::sqrt(2) * std::abs(slope)));  // the norm of both gradients
        for (auto& value : by_hand) value -= rate * slope;
        trainer.step();
        CHECK(static_cast<double>(weight(trainer, "left")) ==
              doctest::Approx(by_hand[0]).epsilon(1e-5));
        CHECK(static_cast<double>(weight(trainer, "right")) ==
              doctest::Approx(by_hand[1]).epsilon(1e-5));
      }
    }
}

TEST_CASE("a training of two variables with one gradient resumes bit for bit") {
  const TemporaryFolder folder;
  for (const std::int64_t accumulate : {1, 2, 4}) {
    CAPTURE(accumulate);
    Sum sum(accumulate, 0, "momentum");
    auto straight = sum.trainer(), first = sum.trainer(), second = sum.trainer();
    for (int i = 0; i < 5; ++i) straight.step();
    for (int i = 0; i < 3; ++i) first.step();
    first.save_checkpoint(folder / "c.tenon");
    second.resume(folder / "c.tenon");
    for (int i = 3; i < 5; ++i) second.step();
    CHECK(same_values(values_of(straight.graph()), values_of(second.graph())));
  }
}
