// What takes only dense tensors says so before anything runs.
#include <doctest/doctest.h>

#include <functional>
#include <tenon/cast_storage.hpp>
#include <tenon/session.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"

using namespace tenon;

TEST_CASE("calls and sessions refuse sparse tensors that they cannot compute with") {
  ApplicationHost host;
  const Tensor csr = cast_storage(Tensor::from({0.0f, 1.0f}, {1, 2}), Storage::csr);
  Graph graph(host);
  graph.output("y", graph.add("quadratic", {graph.input("x", f32, {-1, 2})}));
  Session session(graph);
  const struct {
    std::function<void()> call;
    const char *message, *hint;
  } cases[] = {
      {[&] { host.call("quadratic", {csr}); }, "[quadratic] 'data' is csr, and calls take dense tensors",
       "cast_storage(tensor, Storage::dense) gives one"},
      {[&] {
         session.run({{"x", csr}});
       },
       "input 'x' is csr, and a dense tensor is needed", "cast_storage(tensor, Storage::dense) gives one"},
      {[&] {
         session.run({{"x", Tensor::zeros(f32, {1, 2})}}, {{"y", {csr, Write::to}}});
       },
       "a dense tensor is needed, and this one is csr float32 [1, 2]",
       "cast_storage(tensor, Storage::dense) gives all elements, stored_values() those that are stored"},
  };
  for (const auto& test : cases) {
    const auto failure = failure_of(test.call);
    CHECK(failure.kind == 2);
    CHECK(failure.message == std::string(test.message));
    CHECK(failure.hint == std::string(test.hint));
  }
}
