// Log lines of running kernels, and whether kernels notice cancellation.
#include <doctest/doctest.h>

#include <stop_token>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "probe_operators.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

struct Lines {
  std::vector<std::string> info, warnings;

  HostOptions options() {
    auto options = ApplicationHost::options(1, warnings);
    options.log = [this](const std::string& line) { info.push_back(line); };
    return options;
  }
};

}  // namespace

TEST_CASE("lines of kernels reach the application with node and operator; a warning once") {
  Lines lines;
  ApplicationHost host(lines.options());
  host.add<probes::Copy>("talkative");
  const probes::Copy::During logging([](const Call& call) {
    call.log(Log::info, "x has ", call.input<float>(0).size(), " elements");
    call.log(Log::warning, "it is\nslow");
  });
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
  host.add<probes::Copy>("patient");
  std::stop_source stop;
  std::vector<bool> cancelled;  // before and after the kernel requests that its own run stops
  const probes::Copy::During stopping([&](const Call& call) {
    cancelled.push_back(call.cancelled());
    stop.request_stop();  // at a moment that no user could hit
    cancelled.push_back(call.cancelled());
    if (cancelled.back()) throw Error("I was told to stop");
  });
  Graph graph(host);
  graph.output("y", graph.add("patient", {graph.input("x", f32, {1})}, {}, "waiting"));
  Session session(graph);
  RunOptions options;
  options.stop = stop.get_token();
  CHECK(failure_of([&] {
          session.run({{"x", vector_of({2})}}, options);
        }).message.find("I was told to stop") != std::string::npos);
  CHECK(cancelled == std::vector<bool>{false, true});
  // Without a stop token, or after the token is gone, it cannot be cancelled.
  CHECK(first_of(session.run({{"x", vector_of({2})}}).at("y")) == 2);
  CHECK(first_of(host.call("patient", {vector_of({2})})) == 2);
  CHECK(cancelled == std::vector<bool>{false, true, false, false, false, false});
}
