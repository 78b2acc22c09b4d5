// Traces of sessions on GPUs contain every step, including copies, in execution order.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "gpu_graph.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

TEST_SUITE_BEGIN("gpu");

TEST_CASE("trace: the steps of a run over devices, in order") {
  GpuHost gpu;
  const TemporaryFolder folder;
  SessionOptions options;
  options.device = "cuda";
  options.trace = folder / "trace.json";
  Graph graph(gpu.host);
  const auto a = graph.add("scale", {graph.input("x", f32, {3})}, {{"factor", 2.0}}, "a");
  graph.output("y",
               graph.add("scale", {graph.add("backwards", {a}, {}, "b")}, {{"factor", 3.0}}, "c"));
  Session session(graph, options);
  CHECK(floats_of(session.run({{"x", vector_of({1, 2, 3})}}).at("y")) ==
        std::vector<float>{18, 12, 6});
  std::ifstream file(options.trace);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::size_t from = 0;
  for (const char* name : {"x.cuda:0", "a", "a.cpu", "b", "b.cuda:0", "c", "c.cpu"}) {
    CAPTURE(std::string(name));
    from = text.find("\"name\":\"" + std::string(name) + "\"", from);
    REQUIRE(from != std::string::npos);
  }
  std::map<int, std::string> devices;
  std::map<std::pair<int, int>, std::string> streams;
  std::map<std::string, std::string> places;
  const auto trace = nlohmann::json::parse(text);
  for (const auto& event : trace.at("traceEvents")) {
    const std::string name = event.at("name");
    const int pid = event.at("pid"), tid = event.at("tid");
    if (name == "process_name")
      devices[pid] = event.at("args").at("name");
    else if (name == "thread_name")
      streams[{pid, tid}] = event.at("args").at("name");
    else
      places[name] = devices.at(pid) + ", " + streams.at({pid, tid});
  }
  const std::string kernels = "cuda:0, kernels", to = "cuda:0, copies to the device",
                    back = "cuda:0, copies from the device";
  CHECK(places == std::map<std::string, std::string>{{"x.cuda:0", to},
                                                     {"a", kernels},
                                                     {"a.cpu", back},
                                                     {"b", "cpu, kernels"},
                                                     {"b.cuda:0", to},
                                                     {"c", kernels},
                                                     {"c.cpu", back}});
}

TEST_SUITE_END();
