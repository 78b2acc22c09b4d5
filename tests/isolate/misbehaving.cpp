#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/isolation.hpp>
#include <tenon/host/session.hpp>
#include <vector>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "isolated_host.hpp"
#include "run/vectors.hpp"

using tenon::Tensor;

namespace {

const std::string worker = "[misbehaves] its worker process ";
const std::string plugin = " (misbehaves.so)";

const std::vector<float> doubled{2, 4, 6};

bool mapped_here(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(name) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("isolate: an isolated plugin is never loaded into the host's process") {
  MisbehavingHost isolated;
  CHECK(floats_of(isolated.call("")) == doubled);
  CHECK_FALSE(mapped_here("misbehaves"));
  CHECK(isolated.host.catalog().files()[0].status == tenon::PluginStatus::loaded);

  IsolatedHost other("faults/hidden_state.so", false);  // shows that the test can detect it
  other.host.call("counts_instances", {Tensor::from({1.0f}, {1})});
  CHECK(mapped_here("hidden_state"));
}

TEST_CASE("isolate: a worker gets only environment variables that libraries read") {
  setenv("SECRET_TOKEN", "hunter2", 1);
  MisbehavingHost isolated;
  CHECK(floats_of(isolated.call("reads the environment")) == doubled);
  unsetenv("SECRET_TOKEN");
}

TEST_CASE("isolate: the end of a worker is a failure of the call, and the next call works") {
  MisbehavingHost isolated;
  const struct {
    std::string what, ending;
  } cases[] = {{"segv", "crashed with SIGSEGV"},
               {"abort", "crashed with SIGABRT"},
               {"overflow", "crashed with SIGSEGV"},
               {"exit", "ended with exit code 0"},
               {"_exit", "ended with exit code 0"},
               {"exit 3", "ended with exit code 3"},
               {"kills itself", "was killed with SIGKILL"},
               {"writes far", "crashed with SIGSEGV"}};
  for (const auto& one : cases)
    for (const std::string where : {"forward", "infer", "create"}) {
      const auto& what = one.what;
      if (what == "writes far" && where != "forward") continue;
      CAPTURE(what);
      CAPTURE(where);
      const auto failure = failure_of([&] { isolated.call(what, where); });
      CHECK(failure.kind == 1);
      CHECK(failure.message.starts_with(worker + one.ending));
      CHECK(failure.message.find(plugin) != std::string::npos);
      CHECK(floats_of(isolated.call("")) == doubled);
    }
}

TEST_CASE("isolate: a crash is reported with code locations in the plugin") {
  MisbehavingHost isolated;
  const auto failure = failure_of([&] { isolated.call("segv"); });
  CHECK(failure.message.find("; backtrace: misbehaves.so+0x") != std::string::npos);
  CHECK(failure.message.find("tenon-worker") == std::string::npos);
}

TEST_CASE("isolate: a destructor that crashes or ends the worker does no harm") {
  MisbehavingHost isolated;
  for (const std::string what : {"segv", "exit", "abort"}) {
    {
      auto call = isolated.host.prepare(
          "misbehaves", {tenon::Argument{.name = {}, .dtype = tenon::f32, .shape = {3}}},
          {{"what", what}, {"where", "destroy"}});
      const std::vector<Tensor> inputs = {Tensor::from({1.0f, 2.0f, 3.0f}, {3})};
      CHECK(floats_of(call(inputs)) == doubled);
    }
    CHECK(floats_of(isolated.call("")) == doubled);
  }
}

TEST_CASE("isolate: a call that exceeds the time limit fails, and its worker is ended") {
  tenon::Isolation limits;
  limits.call_seconds = 0.3;
  MisbehavingHost isolated(limits);
  for (const std::string where : {"forward", "infer", "create"}) {
    CHECK(failure_of([&] {
            isolated.call("hangs", where);
          }).message.starts_with(worker + "did not answer within 0.3 s and was ended" + plugin));
    CHECK(floats_of(isolated.call("")) == doubled);
  }
}

TEST_CASE("isolate: a worker that exceeds the memory limit fails without affecting others") {
  if (sanitized) return;
  tenon::Isolation limits;
  limits.memory = 256 << 20;
  MisbehavingHost isolated(limits);
  CHECK(failure_of([&] { isolated.call("allocates"); }).message ==
        "[misbehaves] out of memory (x float32 [3])");
  CHECK(floats_of(isolated.call("")) == doubled);
  const auto large = Tensor::empty(tenon::f32, {80 << 20});
  check_says(
      failure_of([&] {
        isolated.host.call("misbehaves", {large}, {{"what", ""}});
      }).message,
      {"[misbehaves] its tensors need 320.0 MiB", "limit for isolated operators is 256.0 MiB"});
}

TEST_CASE(
    "isolate: the system refuses a worker's files, connections, processes and signals to others") {
  MisbehavingHost isolated;
  const struct {
    std::string what;
    float error;
  } cases[] = {{"opens", EACCES},
               {"makes a socket", EACCES},
               {"kills its parent", EPERM},
               {"holds its parent up", EPERM},
               {"outlives its parent", EPERM},
               {"owns a descriptor", EPERM},
               {"forks", EPERM},
               {"executes", EPERM},
               {"traces its parent", EPERM},
               {"maps shared memory", EPERM},
               {"opens while it is loaded", EACCES},
               {"lists while it is loaded", EACCES}};
  const bool landlock = tenon::isolation_info().limits.find("landlock") != std::string::npos;
  for (const auto& one : cases) {
    const auto& what = one.what;
    CAPTURE(what);
    if (landlock || !what.ends_with("while it is loaded"))
      CHECK(floats_of(isolated.call(what)) == std::vector<float>(3, one.error));
  }
  for (const std::string what :
       {"looks at itself while it is loaded", "is root while it is loaded"}) {
    CAPTURE(what);
    CHECK(floats_of(isolated.call(what)) == doubled);
  }
}

TEST_CASE("isolate: a worker that closes its descriptors continues, or is restarted") {
  MisbehavingHost isolated;
  CHECK(floats_of(isolated.call("closes")) == doubled);
  CHECK(floats_of(isolated.call("")) == doubled);
}

TEST_CASE("isolate: a kernel cannot write to its inputs") {
  MisbehavingHost isolated;
  const auto x = Tensor::from({1.0f, 2.0f, 3.0f}, {3});
  const auto failure = failure_of([&] {
    isolated.host.call("misbehaves", {x}, {{"what", "writes input"}});
  });
  CHECK(failure.message.starts_with(worker + "crashed with SIGSEGV" + plugin));
  CHECK(floats_of(x) == std::vector<float>{1, 2, 3});
}

TEST_CASE(
    "isolate: a kernel cannot write to large shared inputs, not even to what its own plugin "
    "wrote") {
  MisbehavingHost isolated;
  tenon::Graph graph(isolated.host);
  const auto x = graph.input("x", tenon::f32, {100'000});
  const auto sound = graph.add("misbehaves", {x}, {{"what", ""}}, "sound");
  graph.output("z", graph.add("misbehaves", {sound}, {{"what", ""}}, "next"));
  graph.output("y", graph.add("misbehaves", {sound}, {{"what", "writes input"}}, "broken"));
  tenon::Session session(graph);
  const tenon::NamedTensors inputs = {
      {"x", Tensor::from(std::vector<float>(100'000, 1.0f), {100'000})}};
  check_says(
      failure_of([&] { session.run(inputs); }).message,
      {"[misbehaves] node 'broken':", "worker process crashed with SIGSEGV", "misbehaves.so"});
  tenon::RunOptions only;
  only.outputs = {"z"};
  for (int run = 0; run < 2; ++run)
    CHECK(floats_of(session.run(inputs, only).at("z")) == std::vector<float>(100'000, 4.0f));
}

TEST_CASE("isolate: writes of a kernel that crashed are discarded") {
  MisbehavingHost isolated;
  auto call = isolated.host.prepare(
      "misbehaves", {tenon::Argument{.name = {}, .dtype = tenon::f32, .shape = {3}}},
      {{"what", "writes and crashes"}});
  const std::vector<Tensor> inputs = {Tensor::from({1.0f, 2.0f, 3.0f}, {3})};
  std::vector<Tensor> outputs = {Tensor::from({-1.0f, -2.0f, -3.0f}, {3})};
  CHECK(failure_of([&] {
          call.forward(inputs, outputs);
        }).message.starts_with(worker + "crashed with SIGABRT"));
  CHECK(floats_of(outputs[0]) == std::vector<float>{-1, -2, -3});
}

TEST_CASE(
    "isolate: a crash in backward is reported, and the same prepared call continues in a new "
    "worker") {
  MisbehavingHost isolated;
  const std::vector<Tensor> inputs = {Tensor::from({1.0f, 2.0f, 3.0f}, {3})};
  auto call = isolated.host.prepare("misbehaves", {tenon::Argument::like(inputs[0])},
                                    {{"what", "segv"}, {"where", "backward"}});
  const std::vector<Tensor> outputs = {call(inputs)};
  CHECK(floats_of(outputs[0]) == doubled);
  CHECK(failure_of([&] {
          call.backward(inputs, inputs, outputs);
        }).message.starts_with(worker + "crashed with SIGSEGV" + plugin));
  CHECK(floats_of(call(inputs)) == doubled);
}

TEST_CASE("isolate: a session whose node crashed runs again") {
  MisbehavingHost isolated;
  tenon::Graph graph(isolated.host);
  const auto x = graph.input("x", tenon::f32, {3});
  graph.output("z", graph.add("misbehaves", {x}, {{"what", ""}}, "sound"));
  graph.output("y", graph.add("misbehaves", {x}, {{"what", "abort"}}, "broken"));
  tenon::Session session(graph);
  const tenon::NamedTensors inputs = {{"x", Tensor::from({1.0f, 2.0f, 3.0f}, {3})}};
  check_says(
      failure_of([&] { session.run(inputs); }).message,
      {"[misbehaves] node 'broken':", "worker process crashed with SIGABRT", "misbehaves.so"});
  tenon::RunOptions sound;
  sound.outputs = {"z"};
  CHECK(floats_of(session.run(inputs, sound).at("z")) == doubled);
}

TEST_CASE("isolate: plugins that end their worker while being loaded are quarantined") {
  for (const std::string name : {"crash_at_load", "exit_at_load"}) {
    IsolatedHost isolated("faults/" + name + ".so");
    const auto op = isolated.host.catalog().files()[0].operators.at(0);
    CAPTURE(op);
    const auto failure = failure_of([&] { isolated.host.call(op, {Tensor::from({1.0f}, {1})}); });
    CHECK(failure.kind == 3);
    CHECK(failure.message.ends_with(" while being loaded in a worker process"));
    CHECK(isolated.host.catalog().files()[0].status == tenon::PluginStatus::crashed);
  }
}
