// For tests of an author's own operators, with any framework or none: calls without a graph, random tensors, comparisons that say where
// tensors differ, and gradients against differences. Here and not in the SDK, which cannot call operators: tests link Tenon::host.
//
//     tenon::Host host;
//     host.add_plugins("half_square.so");
//     const auto x = tenon::random_tensor(tenon::f64, {3, 4});
//     CHECK(tenon::all_close(host.call("half_square", {x}), expected));  // doctest prints where they differ
//     if (const auto result = tenon::check_gradient(host, "half_square", {x}); !result) std::cerr << result << '\n';
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
  double step = 0;              ///< of an input's element, to both sides; 0: 1e-6 for float64, 1e-2 for float32
  double rtol = -1, atol = -1;  ///< as in CloseOptions; negative: 1e-5 and 1e-7 for float64, 2e-2 and 2e-3 for float32
  bool training = false;        ///< run as in training
  std::uint64_t seed = 0;       ///< of the outputs' gradients and of random operators
};

/// Whether the gradient of an operator is what differences of its results are, for each floating input, float32 or float64 of any storage,
/// and for each floating output. Of sparse inputs the elements that are stored are moved. Every element costs two runs, so the tensors
/// should be small; and keep away from corners, such as 0 for abs. Inputs as in Host::call. The text of the result names input and output.
/// Throws Failure (usage) if there is no floating input, or one of 16 bits, and as calls and Graph::gradient() do.
TENON_API Comparison check_gradient(Host& host, std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {},
                                    const GradientTestOptions& options = {});

}  // namespace tenon
