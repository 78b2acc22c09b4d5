// What plugins of earlier SDKs do wrong and the host knows of.
#include <doctest/doctest.h>

#include <string>
#include <tenon/cast_storage.hpp>
#include <tenon/session.hpp>
#include <vector>

#include "application_host.hpp"
#include "tensor/expanded.hpp"
#include "failure_of.hpp"

using tenon::DType;
using tenon::Storage;
using tenon::Tensor;

namespace {

struct OldPluginHost : ApplicationHost {
  explicit OldPluginHost(bool strict = false) : ApplicationHost(noted_options(strict, notes)) {
    add_plugins(TENON_TEST_FAULTS "/guesses_gradient.so");
  }
  static tenon::HostOptions noted_options(bool strict, std::vector<std::string>& notes) {
    auto chosen = options(2);
    chosen.strict_storage = strict;
    chosen.warn = [&notes](const std::string& text) { notes.push_back(text); };
    return chosen;
  }
  /// The gradient by gate of max(gate - 4, 0) + x.
  Tensor gradient(const Tensor& gate, const Tensor& x) {
    tenon::Graph graph(*this);
    const auto wrt = graph.input("gate", DType::f32, gate.shape());
    const auto y = graph.add("guesses_gradient", {wrt, graph.input("x", DType::f32, x.shape())}, {}, "y");
    graph.output("gradient", graph.gradient(y, {wrt}).at(0));
    return tenon::Session(graph).run({{"gate", gate}, {"x", x}}).at("gradient");
  }
  std::vector<std::string> notes;
};

}  // namespace

TEST_CASE("sparse gradients that an SDK before 0.2 guessed are computed densely, with one note") {
  const auto gate = Tensor::from({10.F, 10.F, 2.F}, {1, 3}), dense = Tensor::from({1.F, 0.F, 0.F}, {1, 3});
  OldPluginHost host, strict(true);
  for (const auto storage : {Storage::csr, Storage::csr, Storage::row_sparse}) {
    const auto gradient = host.gradient(gate, cast_storage(dense, storage));
    CHECK(gradient.storage() == Storage::dense);
    CHECK(expanded(gradient) == std::vector<double>{1, 1, 0});
  }
  REQUIRE(host.notes.size() == 2);  // of each storage
  CHECK(host.notes[0].starts_with("[guesses_gradient backward] node "));
  CHECK(host.notes[0].find(": 'x' is csr and is made dense, 12 bytes, because " TENON_TEST_FAULTS
                           "/guesses_gradient.so was built with SDK 0.1.0, which guesses where the sparse gradients of "
                           "'guesses_gradient' are 0: build it again with SDK 0.2 or later") != std::string::npos);
  CHECK(host.gradient(gate, dense).storage() == Storage::dense);
  CHECK(failure_of([&] { strict.gradient(gate, cast_storage(dense, Storage::csr)); }).message.find("SDK 0.1.0") != std::string::npos);
}
