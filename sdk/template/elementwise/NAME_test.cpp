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

  const auto x = tenon::Tensor::from({-1.f, 0.f, 2.f}, {3});
  const auto y = host.call("@NAME@.@NAME@", {x}, {{"scale", 2.0}, {"shift", 0.5}});
  require(tenon::all_close(y, tenon::Tensor::from({-1.5f, 0.5f, 4.5f}, {3})));

  const auto random = tenon::random_tensor(tenon::f64, {2, 3});
  require(tenon::check_gradient(host, "@NAME@.@NAME@", {random}, {{"scale", 2.0}}));
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
