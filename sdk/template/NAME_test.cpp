// Runs the operator from its plugin, as an application would: @NAME@_test path/to/@NAME@.so
#include <iostream>
#include <stdexcept>
#include <tenon/host/host.hpp>

int main(int count, char** arguments) try {
  if (count != 2) throw std::invalid_argument("usage: @NAME@_test PLUGIN.so");
  tenon::Host host;
  host.add_plugins(arguments[1]);

  const auto x = tenon::Tensor::from({-1.f, 0.f, 2.f}, {3});
  const auto y = host.call("@NAME@", {x}, {{"scale", 2.0}, {"shift", 0.5}});
  const auto expected = tenon::Tensor::from({-1.5f, 0.5f, 4.5f}, {3});
  if (same_bits(y, expected)) return 0;
  std::cerr << "got " << y.to_string() << ", expected " << expected.to_string() << "\n";
  return 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
