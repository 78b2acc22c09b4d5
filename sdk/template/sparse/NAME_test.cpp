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

  // A csr matrix and the dense one give the same result, and the csr result stores the same
  // elements.
  const auto data =
      tenon::random_tensor(tenon::f64, {5, 8}, {.storage = tenon::Storage::csr, .density = 0.25});
  const auto sparse = host.call("@NAME@.@NAME@", {data}, {{"limit", 0.5}});
  const auto dense = tenon::cast_storage(data, tenon::Storage::dense);
  require(tenon::all_close(sparse, host.call("@NAME@.@NAME@", {dense}, {{"limit", 0.5}})));
  if (sparse.storage() != tenon::Storage::csr || sparse.stored() != data.stored())
    throw std::runtime_error("the result is not csr");

  const auto few = tenon::Tensor::from({-2.0, 0.0, 0.25, 3.0}, {2, 2});
  require(tenon::all_close(host.call("@NAME@.@NAME@", {few}),
                           tenon::Tensor::from({-1.0, 0.0, 0.25, 1.0}, {2, 2})));
  require(tenon::check_gradient(host, "@NAME@.@NAME@", {data}, {{"limit", 0.5}}));
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
