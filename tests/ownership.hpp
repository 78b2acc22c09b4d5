// Ownership when graphs, sessions and hosts are made, edited, saved and destroyed in any order: the
// same cases for each device.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <tenon/host/session.hpp>
#include <thread>

#include "temporary_folder.hpp"

/// `counts` adds its number of training calls to its input; `adds` adds its two inputs.
struct OwnershipCases {
  std::function<std::unique_ptr<tenon::Host>()> make_host;
  std::string device, counts, adds;

  using Graph = tenon::Graph;
  using Session = tenon::Session;
  using Tensor = tenon::Tensor;

  static Tensor vector(std::initializer_list<float> values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
  }

  /// y = x + calls; each training run adds x to w, which starts at 100; w_now is w after the step.
  Graph graph_of(tenon::Host& host) const {
    Graph graph(host);
    const auto x = graph.input("x", tenon::f32, {-1});
    graph.output("y", graph.add(counts, {x}, {}, "count"));
    const auto w = graph.variable("w", vector({100}));
    const auto next = graph.add(adds, {w, graph.input("step", tenon::f32, {1})}, {}, "next");
    graph.update(w, next);
    graph.output("w_now", next);
    return graph;
  }

  Session session_of(const Graph& graph) const {
    tenon::SessionOptions options;
    options.training = true;
    options.device = device;
    return Session(graph, options);
  }

  static float first(const Tensor& tensor) { return Tensor(tensor.to("cpu")).values<float>()[0]; }
  static float run(Session& session, std::initializer_list<float> x = {0}) {
    return first(session.run({{"x", vector(x)}, {"step", vector({1})}}).at("y"));
  }

  static std::string bytes_of(Graph& graph) {
    const TemporaryFolder folder;
    graph.save(folder / "graph.tenon");
    std::ifstream file(folder / "graph.tenon", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void in_turns() const {
    const auto host = make_host();
    const auto graph = graph_of(*host);
    auto a = session_of(graph);
    CHECK(run(a) == 1);
    CHECK(run(a) == 2);
    auto b = session_of(graph);
    CHECK(run(b) == 1);
    CHECK(run(a) == 3);
    CHECK(run(b) == 2);
    CHECK(first(a.tensor("w")) == 103);
    CHECK(first(b.tensor("w")) == 102);
    CHECK(first(graph.tensor(graph.find("w"))) == 100);
    CHECK(first(a.graph().tensor(graph.find("w"))) == 103);
    auto c = session_of(a.graph());  // continues from a's state
    CHECK(run(c) == 4);
    CHECK(run(a) == 4);
  }

  void at_once() const {
    const auto host = make_host();
    const auto graph = graph_of(*host);
    std::array<float, 2> last{}, weight{};
    const auto work = [&](std::size_t i) {
      auto session = session_of(graph);
      for (int step = 0; step < 50; ++step) last[i] = run(session);
      weight[i] = first(session.tensor("w"));
    };
    std::thread other(work, 0);
    work(1);
    other.join();
    CHECK(last == std::array<float, 2>{50, 50});
    CHECK(weight == std::array<float, 2>{150, 150});
    CHECK(first(graph.tensor(graph.find("w"))) == 100);
  }

  void edited_afterwards() const {
    const auto host = make_host();
    auto graph = graph_of(*host);
    auto old = session_of(graph);
    CHECK(run(old) == 1);
    const auto twice = graph.add(adds, {graph.find("count"), graph.find("count")}, {}, "twice");
    graph.output("z", twice);
    CHECK(run(old, {5, 5}) == 7);  // another shape needs another plan
    CHECK(old.run({{"x", vector({0})}, {"step", vector({1})}}).count("z") == 0);
    auto fresh = session_of(graph);
    CHECK(first(fresh.run({{"x", vector({5})}, {"step", vector({1})}}).at("z")) == 12);
    CHECK(run(old) == 4);
  }

  void saved_afterwards() const {
    const auto host = make_host();
    auto graph = graph_of(*host);
    graph.initialize();
    const auto before = bytes_of(graph);
    auto session = session_of(graph);
    run(session);
    run(session);
    CHECK(bytes_of(graph) == before);
    auto trained = session.graph();
    CHECK(bytes_of(trained) != before);
    CHECK(first(trained.tensor(trained.find("w"))) == 102);
    run(session);
    CHECK(first(trained.tensor(trained.find("w"))) == 102);  // a copy
  }

  void destroyed_in_any_order() const {
    std::array order{0, 1, 2, 3};
    do {
      auto host = make_host();
      auto graph = std::make_unique<Graph>(graph_of(*host));
      auto session = std::make_unique<Session>(session_of(*graph));
      auto other = std::make_unique<Session>(session_of(*graph));
      run(*session);
      for (const int which : order) {
        if (which == 0) host.reset();
        if (which == 1) graph.reset();
        if (which == 2) session.reset();
        if (which == 3) other.reset();
        if (graph)
          graph->output("last " + std::to_string(which),
                        graph->add(adds, {graph->find("count"), graph->find("count")}));
        if (session) CHECK(run(*session) > 1);
        if (other) CHECK(run(*other) > 0);
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }

  void all() const {
    SUBCASE("two sessions alternately") {
      in_turns();
    }
    SUBCASE("two sessions concurrently") {
      at_once();
    }
    SUBCASE("edited after a session") {
      edited_afterwards();
    }
    SUBCASE("saved after a session") {
      saved_afterwards();
    }
    SUBCASE("destroyed in any order") {
      destroyed_in_any_order();
    }
  }
};
