// A file's manifests may come from other builds, so its nodes need not match the loaded operators.
#include <doctest/doctest.h>

#include <tenon/host/graph.hpp>

#include "../application_host.hpp"
#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "../temporary_folder.hpp"
#include "file/tenon/tenon_file.hpp"
#include "sample_graph.hpp"

using namespace tenon;

TEST_CASE("binding refuses a node that does not match the loaded operator") {
  const auto type = type_of(f32, {1});
  const struct {
    const char* op;
    OperatorSpec there;
    std::vector<std::uint32_t> edges;  // 0 is an input, 1 a state
    const char* message;
  } cases[] = {
      {"counter", {"counter", {"data"}, {"sum"}, {"calls"}, {}}, {0, 1}, ""},
      {"counter",
       {"counter", {"data?"}, {"sum"}, {"calls"}, {}},
       {none, 1},
       "[counter] node 'n': input 'data' is not connected"},
      {"counter",
       {"counter", {"data"}, {"sum"}, {}, {}},
       {0},
       "[counter] node 'n': was made with another version 1 of the operator: the installed one has "
       "the new state 'calls'"},
      {"cosine",
       {"cosine", {"x"}, {"y"}, {"s"}, {}},
       {0, 1},
       "[cosine] node 'n': was made with another version 1 of the operator: the installed one no "
       "longer has state 's'"},
      {"counter",
       {"counter", {"data", "more"}, {"sum"}, {"calls"}, {}},
       {0, 0, 1},
       "[counter] node 'n': was made with another version 1 of the operator: the installed one no "
       "longer has input 'more'"},
      {"reverse",
       {"reverse", {"data"}, {"a", "b"}, {}, {}},
       {0},
       "[reverse] node 'n': was made with another version 1 of the operator: the installed one no "
       "longer has output 'b'"},
  };
  const TemporaryFolder folder;
  ApplicationHost host;
  for (const auto& c : cases) {
    CAPTURE(std::string(c.message));
    GraphMaker make;
    make.value("x", Role::input, type);
    make.tensor("s", Role::state, Tensor::zeros(f32, {1}));
    const auto op = make.op(c.there);
    const auto node =
        make.node("n", op, c.edges, static_cast<std::uint32_t>(c.there.outputs.size()), 0, type);
    make.output("y", make.output_of(node));
    write_tenon(make.model, folder / "graph.tenon");
    CHECK(failure_of([&] { Graph::load(host, folder / "graph.tenon").bind(); }).message ==
          c.message);
  }
}

TEST_CASE("all missing operators are reported at once, with their plugins and nodes") {
  const auto type = type_of(f32, {1});
  GraphMaker make;
  const auto x = make.value("x", Role::input, type);
  const auto shapes = make.plugin("shapes", "1.2.3");
  const auto first = make.op({"frobnicate", {"x"}, {"y"}, {}, {}, 2}, shapes),
             second = make.op({"quadratc", {"x"}, {"y"}, {}, {}});
  make.node("a", first, {x}, 1, 0, type);
  make.node("b", first, {x}, 1, 0, type);
  const auto last = make.node("c", second, {x}, 1, 0, type);
  make.output("y", make.output_of(last));
  const TemporaryFolder folder;
  write_tenon(make.model, folder / "graph.tenon");
  ApplicationHost host;
  const auto failure = failure_of([&] { Graph::load(host, folder / "graph.tenon").bind(); });
  CHECK(failure.kind == 3);
  check_says(failure.message,
             {"'frobnicate' (version 2 from plugin shapes 1.2.3) of node 'a' and 1 more",
              "'quadratc' (version 1 of the application that built the graph) of node 'c'",
              "searched no folder"});
  CHECK(failure.hint == "did you mean quadratic?");
}
