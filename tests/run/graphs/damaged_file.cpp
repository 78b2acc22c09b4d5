// Graph::load of a file in which a bit of a tensor has changed.
#include <doctest/doctest.h>

#include <tenon/host/session.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "temporary_folder.hpp"

using tenon::Graph;
using tenon::Tensor;

TEST_CASE("a damaged file is refused by name, unless verification is off") {
  ApplicationHost host;
  const TemporaryFolder folder;
  const auto path = folder / "graph.tenon";
  {
    Graph graph(host);
    const auto x = graph.input("x", tenon::f32, {2});
    graph.output(
        "y", graph.add("test_add", {x, graph.variable("weight", Tensor::from({1.0F, 2.0F}, {2}))}));
    graph.save(path);
  }
  const auto y = [&](const Graph& graph) {
    return tenon::Session(graph)
        .run({{"x", Tensor::from({1.0F, 1.0F}, {2})}})
        .at("y")
        .values<float>()[1];
  };
  for (const std::uint64_t map_above : {0U, 1U << 20})
    CHECK(y(Graph::load(host, path, {.map_above = map_above})) == 3);
  auto bytes = read_bytes(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 0x01);  // changes the number 2 to 0.5
  write_bytes(path, bytes);
  const auto refused = [](const std::string& name, const auto& open) {
    const auto failure = failure_of(open);
    CHECK(failure.kind == static_cast<int>(tenon::FailureKind::file));
    CHECK(failure.message ==
          name + ": the data of 'weight' is damaged: the checksum of its 8 bytes does not match");
  };
  for (const std::uint64_t map_above : {0U, 1U << 20}) {  // mapped, read
    refused(path.string(), [&] { Graph::load(host, path, {.map_above = map_above}); });
    CHECK(y(Graph::load(host, path, {.verify = false, .map_above = map_above})) != 3);
  }
  refused("it", [&] { Graph::from_bytes(host, std::as_bytes(std::span(bytes)), "it"); });
}
