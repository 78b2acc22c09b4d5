// A loss that contains a gradient, which training differentiates again.
#include <doctest/doctest.h>

#include "digits.hpp"

using namespace tenon;

TEST_CASE("a penalty on the input gradient trains as computed by hand") {
  const std::vector<float> xs{1, 2, -1, 0.5F, 1.5F, -2, 1, -0.5F}, ys{1, 3, 0, 1, 2, 5, 1, 0};
  constexpr double rate = 0.01, weight_of_penalty = 0.3;
  DigitsHost digits;
  Graph graph(digits.host);
  const auto x = graph.input("x", f32, {-1, 1}), y = graph.input("y", f32, {-1, 1});
  const auto w = graph.variable("w", Tensor::from({0.5F}, {1, 1}));
  const auto output = graph.add("fully_connected", {graph.add("square", {x}), w},
                                {{"num_hidden", 1}, {"no_bias", true}});  // w x^2
  const auto slope = graph.gradient(output, {x})[0];                      // 2 w x
  const auto penalty = graph.add("quadratic", {graph.add("mean", {graph.add("square", {slope})})},
                                 {{"b", weight_of_penalty}});
  graph.output("loss", graph.add("add", {graph.add("mean_squared_error", {output, y}), penalty}, {},
                                 "loss"));
  TrainerOptions options;
  options.loss = "loss";
  options.optimizer = "sgd";
  options.schedule.rate = rate;
  options.batch = 4;
  options.shuffle = false;
  Trainer trainer(graph, {{"x", Tensor::from(xs, {8, 1})}, {"y", Tensor::from(ys, {8, 1})}},
                  options);
  double by_hand = 0.5;
  for (std::size_t step = 0; step < 6; ++step) {
    double by_weight = 0;
    for (std::size_t i = step % 2 * 4; i < step % 2 * 4 + 4; ++i) {
      const double square = static_cast<double>(xs[i]) * static_cast<double>(xs[i]);
      by_weight += (2 * (by_hand * square - static_cast<double>(ys[i])) * square +
                    weight_of_penalty * 8 * by_hand * square) /
                   4;
    }
    by_hand -= rate * by_weight;
    trainer.step();
    const auto trained = trainer.graph();
    CHECK(static_cast<double>(trained.tensor(trained.find("w")).values<float>()[0]) ==
          doctest::Approx(by_hand).epsilon(1e-5));
  }
}
