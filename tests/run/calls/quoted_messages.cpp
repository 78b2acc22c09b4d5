// Messages of operators reach applications as one line without terminal control sequences.
#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>
#include <vector>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"

using namespace tenon;

namespace {

constexpr const char* wild = "\x1b[2J\x1b]0;t\x07\nerror: forged\t\xff\u202e";
const std::string quoted = R"(\x1b[2J\x1b]0;t\x07\x0aerror: forged\x09\xff\xe2\x80\xae)";

/// Fails with this text at the point that its parameter selects.
struct Shouts : probes::Copy {
  Text where = "";

  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.param("where", &Shouts::where, "configure, infer, forward or something else");
  }
  void shout(std::string_view here) const {
    if (std::string_view(where) == here) throw std::runtime_error(wild);
  }
  void configure() { shout("configure"); }
  void infer(Infer& io) const {
    shout("infer");
    io.set_output(0, io.input(0).shape);
  }
  void forward(const Call& call) const {
    shout("forward");
    Copy::forward(call);
  }
};

}  // namespace

TEST_CASE("messages of operators are one line without control characters") {
  ApplicationHost host;
  host.add<Shouts>();
  host.add<Shouts>("made", []() -> Shouts { throw std::runtime_error(wild); });
  const auto x = Tensor::from({1.f}, {1});
  const auto run = [&](const std::string& where) {
    Graph graph(host);
    graph.output("y", graph.add("shouts", {graph.input("x", f32, {1})}, {{"where", where}}));
    Session(graph).run({{"x", x}});
  };
  CHECK(failure_of([&] { run("nowhere"); }).kind == 0);
  for (const std::string where : {"configure", "infer", "forward"}) {
    CAPTURE(where);
    for (const auto& act :
         std::vector<std::function<void()>>{[&] { run(where); },
                                            [&] {
                                              host.call("shouts", {x}, {{"where", where}});
                                            }}) {
      const auto message = failure_of(act).message;
      CAPTURE(message);
      CHECK(message.find(quoted) != std::string::npos);
      CHECK(message.find_first_of("\x1b\n\t") == std::string::npos);
    }
  }
  CHECK(failure_of([&] { host.call("made", {x}); }).message.find(quoted) != std::string::npos);
}

TEST_CASE(
    "a text parameter that is not UTF-8 is refused when it is set, not when the graph is saved") {
  ApplicationHost host;
  host.add<Shouts>();
  Graph graph(host);
  const auto x = graph.input("x", f32, {1});
  const auto failure = failure_of([&] { graph.add("shouts", {x}, {{"where", "a\xff"}}, "s"); });
  CHECK(failure.kind == 2);
  CHECK(failure.message == "[shouts] node 's': parameter 'where' is 'a\\xff', which is not UTF-8");
}
