// Log lines of running kernels, and whether kernels notice cancellation.
#include <doctest/doctest.h>

#include <stop_token>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

struct Talkative : Operator {
  static constexpr void describe(auto& op) {
    op.doc("x, with log lines");
    op.types({f32});
    op.input("x", "any shape");
    op.output("y", "the shape of x");
  }
  void forward(const Call& call) const {
    call.log(Log::info, "x has ", call.input<float>(0).size(), " elements");
    call.log(Log::warning, "it is\nslow");
    call.output<float>(0)[0] = call.input<float>(0)[0];
  }
};

std::stop_source* source = nullptr;

/// Requests its own cancellation, and returns whether it notices it, at a moment that no user could
/// hit.
struct Patient : Operator {
  static constexpr void describe(auto& op) {
    op.doc("1 once the run is cancelled");
    op.types({f32});
    op.input("x", "[1]");
    op.output("y", "[1]");
  }
  void forward(const Call& call) const {
    const bool before = call.cancelled();
    if (source) source->request_stop();
    if (!before && call.cancelled()) throw Error("I was told to stop");
    call.output<float>(0)[0] = before ? -1.F : 0.F;
  }
};

struct Lines {
  std::vector<std::string> info, warnings;

  HostOptions options() {
    auto options = ApplicationHost::options(1);
    options.log = [this](const std::string& line) { info.push_back(line); };
    options.warn = [this](const std::string& line) { warnings.push_back(line); };
    return options;
  }
};

}  // namespace

TEST_CASE("lines of kernels reach the application with node and operator; a warning once") {
  Lines lines;
  ApplicationHost host(lines.options());
  host.add<Talkative>("talkative");
  Graph graph(host);
  graph.output("y", graph.add("talkative", {graph.input("x", f32, {1})}, {}, "speaker"));
  Session session(graph);
  session.run({{"x", vector_of({2})}});
  session.run({{"x", vector_of({2})}});
  CHECK(lines.info == std::vector<std::string>(2, "[talkative] node 'speaker': x has 1 elements"));
  REQUIRE(lines.warnings.size() == 1);
  CHECK(lines.warnings[0].starts_with("[talkative] node 'speaker': it is"));
  CHECK(lines.warnings[0].find('\n') == std::string::npos);
  host.call("talkative", {vector_of({2})});
  CHECK(lines.info.back() == "[talkative]: x has 1 elements");
  CHECK(lines.warnings.size() == 2);
}

TEST_CASE("a kernel notices that its run was cancelled") {
  ApplicationHost host(1);
  host.add<Patient>("patient");
  Graph graph(host);
  graph.output("y", graph.add("patient", {graph.input("x", f32, {1})}, {}, "waiting"));
  Session session(graph);
  std::stop_source stop;
  source = &stop;
  RunOptions options;
  options.stop = stop.get_token();
  CHECK(failure_of([&] {
          session.run({{"x", vector_of({2})}}, options);
        }).message.find("I was told to stop") != std::string::npos);
  source = nullptr;
  // Without a stop token, or after the token is gone, it cannot be cancelled.
  CHECK(first_of(session.run({{"x", vector_of({2})}}).at("y")) == 0);
  CHECK(first_of(host.call("patient", {vector_of({2})})) == 0);
}
