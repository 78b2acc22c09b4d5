// Gradients of elementwise operators with sparse inputs: none is guessed, even for plugins built
// with an SDK that did.
#include <doctest/doctest.h>

#include <string>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>
#include <vector>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "gated.hpp"
#include "tensor/expanded.hpp"

using tenon::DType;
using tenon::Storage;
using tenon::Tensor;

namespace {

struct NotedHost : ApplicationHost {
  explicit NotedHost(bool strict = false) : ApplicationHost(noted_options(strict, notes)) {
    add<Gated>();
    add_plugins(TENON_TEST_FAULTS "/guesses_gradient.so");
  }
  static tenon::HostOptions noted_options(bool strict, std::vector<std::string>& notes) {
    auto chosen = options(2);
    chosen.strict_storage = strict;
    chosen.warn = [&notes](const std::string& text) { notes.push_back(text); };
    return chosen;
  }
  /// Returns the gradient of op(gate, x) with respect to one of the two.
  Tensor gradient(const std::string& op, const char* by, const Tensor& gate, const Tensor& x) {
    tenon::Graph graph(*this);
    const auto first = graph.input("gate", DType::f32, gate.shape()),
               second = graph.input("x", DType::f32, x.shape());
    const auto y = graph.add(op, {first, second}, {}, "y");
    graph.output("gradient", graph.gradient(y, {*by == 'g' ? first : second}).at(0));
    return tenon::Session(graph).run({{"gate", gate}, {"x", x}}).at("gradient");
  }
  std::vector<std::string> notes;
};

const auto gate = Tensor::from({10.F, 10.F, 2.F}, {1, 3}),
           values = Tensor::from({1.F, 0.F, 0.F}, {1, 3});

}  // namespace

TEST_CASE(
    "a gradient that does not follow an input's zeros is complete, however the input is stored") {
  NotedHost host(true);
  for (const auto storage : {Storage::dense, Storage::csr, Storage::row_sparse}) {
    const auto x = cast_storage(values, storage);
    CHECK(expanded(host.gradient("gated", "x", gate, x)) == std::vector<double>{6, 6, 0});
    const auto by_gate = host.gradient("gated", "gate", gate, x);
    CHECK(expanded(by_gate) == std::vector<double>{1, 0, 0});
    CHECK(by_gate.storage() == storage);
  }
}

TEST_CASE(
    "sparse gradients that an SDK older than 0.2 guessed are computed densely, with one warning") {
  NotedHost host, strict(true);
  for (const auto storage : {Storage::csr, Storage::csr, Storage::row_sparse}) {
    const auto gradient =
        host.gradient("guesses_gradient", "gate", gate, cast_storage(values, storage));
    CHECK(gradient.storage() == Storage::dense);
    CHECK(expanded(gradient) == std::vector<double>{1, 1, 0});
  }
  REQUIRE(host.notes.size() == 2);  // one per storage
  CHECK(host.notes[0].starts_with("[guesses_gradient backward] node "));
  CHECK(
      host.notes[0].find(
          ": 'x' is converted from csr to dense, 12 bytes, because " TENON_TEST_FAULTS
          "/guesses_gradient.so was built with SDK 0.1.0, which guesses where sparse gradients of "
          "'guesses_gradient' are 0: rebuild it with SDK 0.2 or later") != std::string::npos);
  CHECK(host.gradient("guesses_gradient", "gate", gate, values).storage() == Storage::dense);
  const auto refused = failure_of([&] {
    strict.gradient("guesses_gradient", "gate", gate, cast_storage(values, Storage::csr));
  });
  CHECK(refused.message.find("SDK 0.1.0") != std::string::npos);
}
