// Destinations of outputs when one side is sparse.
#include <doctest/doctest.h>

#include <functional>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/session.hpp>

#include "application_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"

using namespace tenon;

TEST_CASE("destinations must be contiguous") {
  ApplicationHost host;
  Graph graph(host);
  graph.output("y", graph.add("quadratic", {graph.input("x", f32, {2, 2})}));
  float numbers[] = {1, 2, 3, 4};
  const std::int64_t turned[] = {1, 2};
  const auto strided = Tensor::borrow(numbers, f32, {2, 2}, turned);
  for (const auto write : {Write::to, Write::add})
    CHECK(failure_of([&] {
            Session(graph).run({{"x", Tensor::zeros(f32, {2, 2})}}, {{"y", {strided, write}}});
          }).message == "the destination of output 'y' must be a contiguous tensor");
  CHECK(numbers[1] == 2);
}

TEST_CASE("destinations must be writable") {
  ApplicationHost host;
  Graph graph(host);
  graph.output("y", graph.add("quadratic", {graph.input("x", f32, {2})}));
  const float numbers[] = {1, 2};
  const auto fixed = Tensor::borrow_read_only(numbers, f32, {2});
  Session session(graph);
  for (const auto write : {Write::to, Write::add}) {
    const auto failure = failure_of([&] { session.run({{"x", fixed}}, {{"y", {fixed, write}}}); });
    CHECK(failure.kind == 2);
    check_says(failure.message, {"destination of output 'y' is read-only", "writable memory"});
  }
  for (int run = 0; run < 3; ++run) {  // the second may use the fast path
    std::vector<Tensor> made(1);
    if (run > 0) session.run_in_order(std::vector{fixed}, made);
    made[0] = fixed;
    CHECK(failure_of([&] { session.run_in_order(std::vector{fixed}, made); }).kind == 2);
  }
  CHECK(numbers[0] == 1);
  const auto copy = fixed.clone();
  CHECK(session.run({{"x", fixed}}, {{"y", {copy, Write::to}}}).at("y").data() == copy.data());
}

TEST_CASE("a read-only input that is an output stays read-only") {
  ApplicationHost host;
  Graph graph(host);
  graph.output("same", graph.input("x", f32, {2}));
  const float numbers[] = {1, 2};
  CHECK(Session(graph)
            .run({{"x", Tensor::borrow_read_only(numbers, f32, {2})}})
            .at("same")
            .read_only());
  CHECK_FALSE(Session(graph).run({{"x", Tensor::from({1.f, 2.f}, {2})}}).at("same").read_only());
}

TEST_CASE("destinations must be dense, for dense outputs") {
  ApplicationHost host;
  const Tensor dense = Tensor::from({0.0f, 1.0f}, {1, 2}), csr = cast_storage(dense, Storage::csr);
  Graph graph(host);
  graph.output(
      "y",
      graph.add("quadratic",
                {graph.input("x", f32, {-1, 2})}));  // zeros stay zeros with the default a, b, c
  Session session(graph);
  const auto message = [&](const Tensor& input, const Tensor& destination) {
    const auto failure = failure_of([&] {
      session.run({{"x", input}}, {{"y", {destination, Write::to}}});
    });
    return failure.message;
  };
  CHECK(message(dense, dense.clone()) == "");
  CHECK(message(dense, csr) == "the destination of output 'y' must be dense");
  check_says(message(csr, dense.clone()), {"output 'y' is not used", "the output is csr"});
  CHECK(session.run({{"x", csr}}).at("y").storage() == Storage::csr);
}
