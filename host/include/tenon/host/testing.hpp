// Functions for tests of your own operators, with any framework or none: calls without a graph,
// random tensors, comparisons that report where tensors differ, and checks of gradients by finite
// differences. They are not in the SDK, which cannot call operators: tests link Tenon::host.
//
//     tenon::Host host;
//     host.add_plugins("half_square.so");
//     const auto x = tenon::random_tensor(tenon::f64, {3, 4});
//     // doctest prints where they differ
//     CHECK(tenon::all_close(host.call("half_square", {x}), expected));
//     if (const auto result = tenon::check_gradient(host, "half_square", {x}); !result)
//       std::cerr << result << '\n';
#pragma once
#include <string_view>
#include <tenon/host/api.hpp>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <vector>

namespace tenon {

struct GradientTestOptions {
  /// added to and subtracted from an input's element; 0: 1e-6 for float64, 1e-2 for float32
  double step = 0;
  double rtol = -1, atol = -1;  ///< as in CloseOptions; negative: 1e-5 and 1e-7 for float64, 2e-2
                                ///< and 2e-3 for float32
  bool training = false;        ///< run in training mode
  std::uint64_t seed = 0;       ///< seed for the outputs' gradients and for random operators
};

/// Compares the gradient of an operator with finite differences, for each floating input, float32
/// or float64 of any storage, and for each floating output. Of sparse inputs, the stored elements
/// are varied. Every element costs two runs, so use small tensors; and avoid points without a
/// derivative, such as 0 for abs. Inputs as in Host::call. The text of the result names input and
/// output. Throws Failure (usage) if there is no floating input, or a 16-bit one, and as calls and
/// Graph::gradient() do.
TENON_API Comparison check_gradient(Host& host, std::string_view op,
                                    const std::vector<Tensor>& inputs,
                                    const Attributes& attributes = {},
                                    const GradientTestOptions& options = {});

}  // namespace tenon
