// Runs the operator from its plugin, as an application would: @NAME@_test path/to/@NAME@.so
#include <iostream>
#include <stdexcept>
#include <tenon/host/devices.hpp>
#include <tenon/host/testing.hpp>

// Prints where tensors differ; with doctest, use CHECK(result).
void require(const tenon::Comparison& result) {
  if (!result) throw std::runtime_error(result.text);
}

int main(int count, char** arguments) try {
  if (count != 2) throw std::invalid_argument("usage: @NAME@_test PLUGIN.so");
  tenon::Host host;
  host.add_plugins(arguments[1]);

  const auto x = tenon::Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});
  const auto expected = tenon::Tensor::from({3.f, 2.f, 1.f, 6.f, 5.f, 4.f}, {2, 3});
  require(tenon::all_close(host.call("@NAME@.@NAME@", {x}), expected));
  require(tenon::check_gradient(host, "@NAME@.@NAME@", {x}));
  for (const auto& device : tenon::list_devices()) {
    if (device.name == "cpu") continue;
    const auto on_device = host.call("@NAME@.@NAME@", {x.to(device.name)});
    require(tenon::all_close(on_device, expected));
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
