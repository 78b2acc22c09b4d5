// Runs the operator from its plugin, as an application would: @NAME@_test path/to/@NAME@.so
#include <iostream>
#include <stdexcept>
#include <tenon/host/testing.hpp>

// Prints where tensors differ; with doctest, use CHECK(result).
void require(const tenon::Comparison& result) {
  if (!result) throw std::runtime_error(result.text);
}

int main(int count, char** arguments) try {
  if (count != 2) throw std::invalid_argument("usage: @NAME@_test PLUGIN.so");
  tenon::Host host;
  host.add_plugins(arguments[1]);

  const auto weight = tenon::Tensor::from({1.f, -1.f}, {2});
  const auto grad = tenon::Tensor::from({0.5f, -2.f}, {2});
  const auto rate = tenon::full(tenon::f32, tenon::Shape::scalar(), 0.1);
  const auto types = {tenon::Argument::like(weight), tenon::Argument::like(grad),
                      tenon::Argument::like(rate)};

  // Two steps with momentum 0.5: the state is 0, then grad, then 1.5 grad.
  auto step = host.prepare("@NAME@.@NAME@", types, {{"momentum", 0.5}});
  const auto states = step.make_states();
  std::vector<tenon::Tensor> updated(1);
  step.forward(std::vector{weight, grad, rate}, updated, states);
  require(tenon::all_close(updated[0], tenon::Tensor::from({0.95f, -0.8f}, {2})));
  step.forward(std::vector{updated[0].clone(), grad, rate}, updated, states);
  require(tenon::all_close(updated[0], tenon::Tensor::from({0.875f, -0.5f}, {2})));
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
