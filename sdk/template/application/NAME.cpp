// An application with a custom operator: it fits a curve, saves the graph, loads it and runs it.
#include <cmath>
#include <iostream>
#include <tenon/host/session.hpp>
#include <tenon/host/testing.hpp>
#include <tenon/host/trainer.hpp>
#include <tenon/host/udf.hpp>

// As in a plugin, but without TENON_OPERATOR. The derivative is computed from the function.
struct Bump : tenon::Elementwise {
  float width = 1;
  static constexpr void describe(auto& op) {
    op.doc("exp(-(x / width)^2), element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("width", &Bump::width, "width of the bump").greater_than(0);
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return exp(-(x / width) * (x / width));
  }
};

int main(int count, char** arguments) try {
  const std::string path = count > 1 ? arguments[1] : "@NAME@.tenon";
  tenon::Host host;
  host.add<Bump>();
  if (const auto result =
          tenon::check_gradient(host, "bump", {tenon::random_tensor(tenon::f64, {5})});
      !result)
    throw std::runtime_error(result.text);

  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {-1, 1});
  const auto target = graph.input("target", tenon::f32, {-1, 1});
  const auto hidden = graph.add("fully_connected", {x}, {{"num_hidden", 8}});
  const auto y = graph.add("fully_connected", {graph.add("bump", {hidden})}, {{"num_hidden", 1}});
  graph.output("y", y);
  graph.output("loss", graph.add("mean_squared_error", {y, target}));

  const auto inputs = tenon::random_tensor(tenon::f32, {256, 1}, {.low = -2, .high = 2});
  auto targets = tenon::Tensor::empty(tenon::f32, {256, 1});
  for (std::size_t i = 0; i < 256; ++i)
    targets.values<float>()[i] = std::sin(2 * inputs.values<float>()[i]);

  tenon::TrainerOptions options;
  options.loss = "loss";
  options.optimizer = "adam";
  options.schedule.rate = 0.02;
  tenon::Trainer trainer(graph, {{"x", inputs}, {"target", targets}}, options);
  while (trainer.steps() < 1000) trainer.step();
  trainer.graph().save(path);

  tenon::Session session(tenon::Graph::load(host, path));
  tenon::RunOptions request;
  request.outputs = {"y"};
  const auto result = session.run({{"x", tenon::full(tenon::f32, {1, 1}, 0.5)}}, request);
  const auto found = result.at("y").values<float>()[0];
  std::cout << "sin(1) is about " << found << '\n';
  return std::abs(found - std::sin(1.0f)) < 0.1f ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
