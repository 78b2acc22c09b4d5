// Crashes and exits of plugin code are reported by name, and reflected in the exit code.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>

#include "cli/workplace.hpp"

namespace {

/// A graph whose node 'a' is the operator of a plugin that ends the process in different ways.
class FaultySite {
 public:
  explicit FaultySite(std::string plugin, const std::string& attributes = "")
      : plugin_(std::move(plugin)) {
    write_bytes(folder_ / "g.json", graph_json(R"({"name": "a", "op": ")" + plugin_ +
                                               R"(", "inputs": ["x"])" + attributes + '}'));
    write_bytes(folder_ / "x.npy", npy_bytes("<f4", "(2, 4)", 32));
  }
  ProgramResult run(Words words, const std::map<std::string, std::string>& environment = {}) const {
    for (const auto& word :
         {std::string("--plugins"), fault(plugin_), std::string("--trust-writable")})
      words.push_back(word);
    return run_tenon(words, {folder_.path(), {}, environment});
  }
  ProgramResult run_graph(const Words& more = {},
                          const std::map<std::string, std::string>& environment = {}) const {
    Words words{"run", "g.json", "--input", "x=x.npy", "--threads", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words, environment);
  }
  bool has_file(const std::string& name) const { return std::filesystem::exists(folder_ / name); }

 private:
  std::string plugin_;
  TemporaryFolder folder_;
};

FaultySite doing(const std::string& deed) {
  return FaultySite("ends_process", R"(, "attrs": {"deed": ")" + deed + "\"}");
}

const std::string twice_nothing = "y  float32 [2, 4]  0 0 0 0 0 0 0 0\n";

std::string node_a(const std::string& what) {
  return "[ends_process] node 'a' of " + fault("ends_process") + ' ' + what;
}

void check_named(const ProgramResult& result, const std::string& words) {
  INFO(result.err);
  INFO(words);
  CHECK(result.code == 1);
  CHECK(result.out.empty());
  CHECK(has(result.err, "error: " + words));
}

const struct {
  const char *deed, *words;
} crashes[] = {
    {"null", "crashed with SIGSEGV in forward(): it wrote to address 0x0"},
    {"read", "crashed with SIGSEGV in forward(): it read address 0x0"},
    {"overflow", "crashed with SIGSEGV (stack overflow) in forward()"},
    {"behind", "crashed with SIGSEGV in forward(): it wrote to address 0x"},
    {"divide", "crashed with SIGFPE in forward()"},
    {"illegal", "crashed with SIGILL in forward()"},
    {"abort", "crashed with SIGABRT in forward()"},
    {"noexcept", "crashed with SIGABRT in forward()"},
    {"cleanup", "crashed with SIGABRT in forward()"},
    {"pthread_exit", "crashed with SIGABRT in forward()"},
    {"exit", "ended the process with exit code 0 in forward()"},
    {"worker", "crashed with SIGSEGV in forward(): it wrote to address 0x0"},
    {"worker_overflow", "crashed with SIGSEGV (stack overflow) in forward()"},
    {"create", "crashed with SIGSEGV in create(): it wrote to address 0x0"},
    {"infer", "crashed with SIGSEGV in infer(): it wrote to address 0x0"},
};

}  // namespace

TEST_CASE("crashes: one sentence names operator, node and plugin, and the exit code is 1") {
  for (const auto& each : crashes) {
    const auto& deed = each.deed;
    const auto& words = each.words;
    CAPTURE(deed);
    const auto site = doing(deed);
    const auto result = site.run_graph({"--output", "y=y.npy"});
    check_named(result, node_a(words));
    CHECK(has(result.err, "hint: tenon check " + fault("ends_process")));
    CHECK_FALSE(site.has_file("y.npy"));
  }
}

TEST_CASE("crashes: without a parent process") {
  for (const auto& each : crashes) {
    const auto& deed = each.deed;
    const auto& words = each.words;
    CAPTURE(deed);
    check_named(doing(deed).run_graph({}, {{"TENON_NO_PARENT", "1"}}), node_a(words));
  }
}

TEST_CASE("crashes: _exit, and a plugin's own threads") {
  check_named(doing("_exit").run_graph(), node_a("ended the process with exit code 0"));
  for (const auto& [deed, signal] : {std::pair("thread", "SIGABRT"), {"thread_null", "SIGSEGV"}})
    check_named(doing(deed).run_graph(),
                std::string("a thread outside Tenon crashed with ") + signal);
}

TEST_CASE("crashes: the parent process names the kernel that closed all descriptors") {
  check_named(
      doing("close all").run_graph(),
      "the process ended with exit code 1; no plugin was running, the last one was [ends_process]");
}

TEST_CASE("crashes: bench and test report them, with --json as JSON") {
  const auto result = doing("null").run({"--json", "bench", "g.json", "--shape", "x=2x4"});
  CHECK(result.code == 1);
  CHECK(has(result.err, "\"error\": \"" + node_a("crashed with SIGSEGV")));
}

TEST_CASE("crashes: a destructor loses no result") {
  const auto site = doing("destructor");
  const auto words =
      "[ends_process] of " + fault("ends_process") + " crashed with SIGSEGV in destroy()";
  check_named(site.run_graph({"--output", "y=y.npy"}), words);
  CHECK(site.has_file("y.npy"));
  const auto printed = site.run_graph();
  CHECK(printed.code == 1);
  CHECK(printed.out == twice_nothing);
  CHECK(has(printed.err, words));
}

TEST_CASE("crashes: exit handlers of plugins do not run in the program") {
  for (const std::string plugin : {"crashes_at_end", "hangs_at_end"}) {
    const FaultySite site(plugin);
    const auto run = site.run_graph();
    CHECK(run.code == 0);
    CHECK(run.err.empty());
    CHECK(run.out == twice_nothing);
    const auto check = run_tenon({"check", fault(plugin), "--trust-writable"});
    INFO(check.out);
    CHECK(check.code == 0);
    CHECK(has(check.out, "0 failed, 0 crashed"));
  }
}

TEST_CASE("crashes: a plugin that ends the process while being loaded, but not in the probe") {
  const struct {
    std::string plugin, words, words_of_check;
  } rows[] = {
      {"crash_after_probe", "crashed with SIGSEGV while being loaded: it wrote to address 0x8",
       "crashes with signal 11"},
      {"exit_after_probe", "ended the process with exit code 0", "ends the process"}};
  for (const auto& [plugin, words, words_of_check] : rows) {
    const FaultySite site(plugin);
    check_named(site.run_graph(), fault(plugin) + ' ' + words);
    check_named(site.run({"build", "g.json", "-o", "g.tenon"}), fault(plugin) + ' ' + words);
    // tries it in a separate process first
    const auto check = run_tenon({"check", fault(plugin), "--trust-writable"});
    CHECK(check.code == 3);
    CHECK(check.err == "error: " + fault(plugin) + ' ' + words_of_check +
                           " when it is loaded together with Tenon's library\n");
  }
}

TEST_CASE("crashes: a forked copy of the process prints nothing") {
  const auto result = doing("fork").run_graph();
  CHECK(result.code == 0);
  CHECK(result.out == twice_nothing);
  CHECK(has(result.err,
            node_a("forked the process and returned in both copies: this copy ends here")));
}

TEST_CASE("crashes: --timeout ends a call that hangs") {
  for (const std::string deed : {"loop", "deaf", "infer_loop", "stop"}) {
    const auto result = doing(deed).run_graph({"--timeout", "0.3"});
    check_named(result, node_a("did not return from " +
                               std::string(deed == "infer_loop" ? "infer()" : "forward()") +
                               " within 300 ms"));
  }
  CHECK(doing("").run_graph({"--timeout", "100"}).out == twice_nothing);
  CHECK(doing("").run_graph({"--timeout", "0"}).code == 2);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("crashes: a kernel that allocates without limit is an error of its node") {
  const FaultySite site("ends_process", R"(, "attrs": {"deed": "memory"})");
  struct rlimit before {};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  const struct rlimit less { rlim_t{2} << 30, before.rlim_max };
  REQUIRE(setrlimit(RLIMIT_AS, &less) == 0);  // inherited by the program
  const auto result = site.run_graph();
  setrlimit(RLIMIT_AS, &before);
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(result.out.empty());
  CHECK(has(result.err, "error: [ends_process] node 'a': out of memory"));
}
#endif

TEST_CASE(
    "crashes: a kernel that truncates the mapped file of the weights is an error that names the "
    "file") {
  const TemporaryFolder folder;
  write_bytes(
      folder / "g.json",
      graph_json(R"({"name": "b", "op": "ends_process", "inputs": ["x"], "attrs": {"deed": "cut"}},
  {"name": "a", "op": "fully_connected", "inputs": ["b"], "attrs": {"num_hidden": 4300000}})"));
  write_bytes(folder / "x.npy", npy_bytes("<f4", "(2, 4)", 32));
  const Words plugins{"--plugins", fault("ends_process"), "--trust-writable"};
  const auto run = [&](Words words, const std::map<std::string, std::string>& environment) {
    words.insert(words.end(), plugins.begin(), plugins.end());
    return run_tenon(words, {folder.path(), {}, environment});
  };
  REQUIRE(run({"build", "g.json", "-o", "g.tenon"}, {}).code == 0);
  for (const char* parent : {"TENON_ANY", "TENON_NO_PARENT"}) {
    std::filesystem::copy_file(folder / "g.tenon", folder / "cut.tenon",
                               std::filesystem::copy_options::overwrite_existing);
    const auto result = run({"run", "cut.tenon", "--input", "x=x.npy", "--output", "y=y.npy"},
                            {{"TENON_FAULT_FILE", "cut.tenon"}, {parent, "1"}});
    INFO(result.err);
    CHECK(result.code == 4);
    CHECK(has(result.err, "error: cut.tenon was truncated while it was in use: "));
    CHECK_FALSE(std::filesystem::exists(folder / "y.npy"));
  }
}

TEST_CASE("crashes: exit code 128 plus the signal, and what was running") {
  const auto terminated = doing("terminate").run_graph();
  CHECK(terminated.code == 128 + SIGTERM);
  CHECK(has(terminated.err, node_a("was running when SIGTERM ended the process")));
  const auto killed = doing("kill").run_graph();
  CHECK(killed.code == 128 + SIGKILL);
  CHECK(has(
      killed.err,
      node_a("was running when SIGKILL ended the process; the system may have run out of memory")));
}
