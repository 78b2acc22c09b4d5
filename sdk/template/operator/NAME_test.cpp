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

  const auto data = tenon::Tensor::from({3.f, 4.f, 0.f, 0.f}, {2, 2});
  const auto length = host.call("@NAME@.@NAME@", {data});
  require(tenon::all_close(length, tenon::Tensor::from({5.f, 0.f}, {2})));

  const auto random = tenon::random_tensor(tenon::f64, {2, 3});
  require(tenon::check_gradient(host, "@NAME@.@NAME@", {random}, {{"eps", 0.1}}));
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
