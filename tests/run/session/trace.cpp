// Traces of a session's runs.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stop_token>
#include <tenon/host/session.hpp>

#include "application_host.hpp"
#include "failure_of.hpp"
#include "file_size_limit.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

namespace {

constexpr int nodes = 20;

Graph group(Host& host) {
  Graph graph(host);
  auto value = graph.input("x", f32, {2});
  for (int i = 0; i < nodes; ++i)
    value = graph.add("quadratic", {value}, {{"b", 0.5}}, i == 3 ? "with \"quotes\"" : "");
  graph.output("y", value);
  return graph;
}

/// Bytes that this process has written; -1 if the system does not count them.
long long written() {
  std::ifstream counters("/proc/self/io");
  std::string name;
  for (long long count = 0; counters >> name >> count;)
    if (name == "wchar:") return count;
  return -1;
}

std::size_t events_of(const nlohmann::json& trace, const std::string& phase) {
  const auto& events = trace.at("traceEvents");
  return static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(), [&](const auto& event) { return event.at("ph") == phase; }));
}

}  // namespace

TEST_CASE("trace: complete after each run, and a run writes only its own events") {
  ApplicationHost host;
  const TemporaryFolder folder;
  const auto path = folder / "trace.json";
  write_bytes(path, "what was there before");
  Session session(group(host), {.trace = path});
  const NamedTensors inputs{{"x", Tensor::from({1.f, 2.f}, {2})}};
  long long second = 0;
  for (std::size_t run = 1; run <= 60; ++run) {
    const auto before = written();
    session.run(inputs);
    const auto bytes = written() - before;
    if (run == 2) second = bytes;
    if (run > 2 && before >= 0) CHECK(bytes < second * 5 / 4);  // times grow by some digits
    if (run % 10 != 0 && run > 2) continue;
    const auto trace = nlohmann::json::parse(read_bytes(path));
    CHECK(events_of(trace, "X") == run * nodes);
    CHECK(events_of(trace, "M") == 2);
  }
  CHECK((written() < 0 || second > nodes * 50));
}

TEST_CASE("trace: a traced run can be stopped, too") {
  ApplicationHost host;
  const TemporaryFolder folder;
  const auto path = folder / "trace.json";
  Session session(group(host), {.trace = path});
  const NamedTensors inputs{{"x", Tensor::from({1.f, 2.f}, {2})}};
  std::stop_source source;
  source.request_stop();
  const auto failure =
      failure_of([&] { session.run(inputs, RunOptions{.stop = source.get_token()}); });
  CHECK(failure.message == "the run was stopped");
  session.run(inputs);
  CHECK(events_of(nlohmann::json::parse(read_bytes(path)), "X") == nodes);
}

TEST_CASE("trace: processes are devices, threads are streams, and times are ordered") {
  ApplicationHost host;
  const TemporaryFolder folder;
  const auto path = folder / "trace.json";
  Session session(group(host), {.trace = path});
  session.run({{"x", Tensor::from({1.f, 2.f}, {2})}});
  const auto trace = nlohmann::json::parse(read_bytes(path));
  std::set<std::string> names, meta;
  double last = 0;
  for (const auto& event : trace.at("traceEvents")) {
    CHECK(event.at("pid") == 1);
    CHECK(event.at("tid") == 1);
    if (event.at("ph") == "M") {
      meta.insert(event.at("name").get<std::string>() + " " +
                  event.at("args").at("name").get<std::string>());
      continue;
    }
    names.insert(event.at("name"));
    CHECK(event.at("cat") == "quadratic");
    CHECK(event.at("ts") >= last);
    last = event.at("ts").get<double>() + event.at("dur").get<double>() -
           0.002;  // rounded to nanoseconds
  }
  CHECK(meta == std::set<std::string>{"process_name cpu", "thread_name kernels"});
  CHECK(names.contains("with \"quotes\""));
  CHECK(names.size() == nodes);
}

TEST_CASE(
    "trace: an unwritable file is reported before anything runs, and a failed run leaves it "
    "complete") {
  ApplicationHost host;
  const TemporaryFolder folder;
  Graph graph(host);
  graph.output(
      "y", graph.add("reverse",
                     {graph.add("quadratic", {graph.input("x", f32, {2})}, {{"b", 1.0}}, "first")},
                     {}, "second"));
  const NamedTensors good{{"x", Tensor::from({1.f, 2.f}, {2})}},
      bad{{"x", Tensor::from({-1.f, 2.f}, {2})}};
  Session nowhere(graph, {.trace = folder / "no" / "trace.json"});
  CHECK(failure_of([&] { nowhere.run(bad); }).kind == 4);
  const auto path = folder / "trace.json";
  Session session(graph, {.trace = path});
  for (const std::size_t events : {0U, 3U}) {  // those of a failed run are written with the next
    CHECK(failure_of([&] { session.run(bad); }).kind == 1);
    CHECK(events_of(nlohmann::json::parse(read_bytes(path)), "X") == events);
    session.run(good);
  }
  CHECK(events_of(nlohmann::json::parse(read_bytes(path)), "X") == 6);
  for (int i = 0; i < 100; ++i) CHECK(failure_of([&] { session.run(bad); }).kind == 1);
  session.run(good);  // its two events, and one of the last failed run
  CHECK(events_of(nlohmann::json::parse(read_bytes(path)), "X") == 9);
}

TEST_CASE("trace: names that could not be written are written with the next run") {
  std::vector<std::string> warnings;
  ApplicationHost host(ApplicationHost::options(1, warnings));
  const TemporaryFolder folder;
  const auto path = folder / "trace.json";
  Session session(group(host), {.trace = path});
  const NamedTensors inputs{{"x", Tensor::from({1.f, 2.f}, {2})}};
  {
    const FileSizeLimit full_disk(100);
    session.run(inputs);
    CHECK(warnings.size() == 1);
  }
  session.run(inputs);
  const auto trace = nlohmann::json::parse(read_bytes(path));
  CHECK(events_of(trace, "X") == nodes);
  CHECK(events_of(trace, "M") == 2);
}

TEST_CASE("trace: a full disk loses the trace's events but not the run's results") {
  std::vector<std::string> warnings;
  ApplicationHost host(ApplicationHost::options(1, warnings));
  const TemporaryFolder folder;
  const auto path = folder / "trace.json";
  Session session(group(host), {.trace = path});
  const NamedTensors inputs{{"x", Tensor::from({1.f, 2.f}, {2})}};
  const auto expected = session.run(inputs).at("y").to_string();
  for (int i = 0; i < 2; ++i) {
    const FileSizeLimit full_disk(std::filesystem::file_size(path) + 100);
    CHECK(session.run(inputs).at("y").to_string() == expected);
    CHECK(events_of(nlohmann::json::parse(read_bytes(path)), "X") == nodes);
  }
  CHECK(warnings == std::vector<std::string>{
                        "cannot write " + path.string() +
                        ": it would exceed the maximum file size; the trace is missing runs"});
  session.run(inputs);
  CHECK(events_of(nlohmann::json::parse(read_bytes(path)), "X") == 2 * nodes);
}
