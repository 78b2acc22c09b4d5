// Where a run may put its outputs, when one side is sparse.
#include <doctest/doctest.h>

#include <functional>
#include <tenon/cast_storage.hpp>
#include <tenon/session.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"

using namespace tenon;

TEST_CASE("destinations are dense, and of dense outputs") {
  ApplicationHost host;
  const Tensor dense = Tensor::from({0.0f, 1.0f}, {1, 2}), csr = cast_storage(dense, Storage::csr);
  Graph graph(host);
  graph.output("y", graph.add("quadratic", {graph.input("x", f32, {-1, 2})}));  // keeps zeros where they are, for a, b, c as left out
  Session session(graph);
  const auto message = [&](const Tensor& input, const Tensor& destination) {
    const auto failure = failure_of([&] { session.run({{"x", input}}, {{"y", {destination, Write::to}}}); });
    return failure.message;
  };
  CHECK(message(dense, dense.clone()) == "");
  CHECK(message(dense, csr) == "the destination of output 'y' must be dense");
  CHECK(message(csr, dense.clone()) == "the destination of output 'y' is of no use: the output is csr, and is taken from what run() gives");
  CHECK(session.run({{"x", csr}}).at("y").storage() == Storage::csr);
}
