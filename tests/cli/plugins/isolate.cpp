// Isolated plugins on the command line.
#include <doctest/doctest.h>

#include "cli/training/failing_training.hpp"

namespace {

std::string graph_with(const std::string& what) {
  return graph_json(R"({"name": "a", "op": "misbehaves", "inputs": ["x"], "attrs": {"what": ")" +
                    what + R"("}})");
}

}  // namespace

TEST_CASE("--isolate: a crash of a kernel becomes an error of its node") {
  const Workplace site;
  site.write("sound.json", graph_with(""));
  site.write("crash.json", graph_with("segv"));
  site.write("hang.json", graph_with("hangs"));
  const std::string plugin = TENON_TEST_FAULTS "/misbehaves.so";
  for (const std::string name : {"all", "misbehaves"}) {
    const Words isolated{
        "--plugins", plugin, "--trust-writable", "--isolate", name, "--isolate-timeout",
        "0.5",       "run",  "--input",          "x=x.npy"};
    const auto with = [&](const std::string& graph) {
      auto words = isolated;
      words.push_back(graph);
      return site.run(words);
    };
    CHECK(with("sound.json").out == "y  float32 [2, 4]  0 0 0 0 0 0 0 0\n");
    const auto crash = with("crash.json");
    CHECK(crash.code == 1);
    CHECK(has(crash.err,
              "error: [misbehaves] node 'a': its worker process crashed with SIGSEGV "
              "(misbehaves.so); backtrace: misbehaves.so+0x"));
    const auto hang = with("hang.json");
    CHECK(hang.code == 1);
    CHECK(has(hang.err,
              "its worker process did not answer within 0.5 s and was ended (misbehaves.so)"));
  }
}

TEST_CASE("time limits: values beyond a clock's range mean no limit; others are at least 0.001 s") {
  const Workplace site;
  const auto with = [&](const std::string& isolated, const std::string& any) {
    return site.run({"--isolate", "all", "--isolate-timeout", isolated, "run", "g.tenon", "--input",
                     "x=x.npy", "--timeout", any});
  };
  const auto unlimited = with("0", "1e9");
  CHECK(unlimited.code == 0);
  site.write("crash.json", graph_with("segv"));  // meanwhile the host sleeps up to its limit
  for (const std::string seconds : {"1e9", "1e10", "1e11", "1e300"}) {
    CAPTURE(seconds);
    const auto result = with(seconds, seconds);
    CAPTURE(result.err);
    CHECK(result.code == 0);
    CHECK(result.out == unlimited.out);
    const auto crash =
        site.run({"--plugins", fault("misbehaves"), "--trust-writable", "--isolate", "all",
                  "--isolate-timeout", seconds, "run", "crash.json", "--input", "x=x.npy"});
    CHECK(has(crash.err, "its worker process crashed with SIGSEGV"));
  }
  for (const std::string seconds : {"1e-300", "0.0009", "-1"})
    CHECK(has(with(seconds, "1").err, "error: --isolate-timeout is '" + seconds +
                                          "' but must be 0 or a number of at least 0.001\n"));
}

TEST_CASE("--isolate: refuses unknown plugins") {
  const Workplace site;
  const auto wrong =
      site.run({"--isolate", "tenon_elementwize", "run", "g.tenon", "--input", "x=x.npy"});
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err,
            "error: --isolate: there is no plugin 'tenon_elementwize'\nhint: did you mean "
            "tenon_elementwise?"));
  CHECK(site.run({"--isolate", "tenon_elementwise", "run", "g.tenon", "--input", "x=x.npy"}).code ==
        0);
}

TEST_CASE(
    "train --isolate: a crash in a step keeps the steps before it, and --resume gives the bytes of "
    "an undisturbed training") {
  const struct {
    const char *deed, *ending;
  } rows[] = {{"null", "crashed with SIGSEGV"},
              {"abort", "crashed with SIGABRT"},
              {"_exit", "ended with exit code 0"},
              {"loop", "did not answer within 0.5 s and was ended"}};
  for (const auto& row : rows)
    for (const std::string isolated : {"all", "ends_process"}) {
      CAPTURE(row.deed);
      CAPTURE(isolated);
      const FailingTraining site(row.deed);
      const Words more{"--isolate", isolated, "--isolate-timeout", "0.5"};
      const auto failed = site.train_until(4, more);
      INFO(failed.err);
      CHECK(failed.code == 1);
      CHECK(has(failed.err,
                "error: [ends_process] node 'a': its worker process " + std::string(row.ending)));
      CHECK(has(failed.err, "failed after step 4, in epoch 2; saved c.tenon\n"));
      CHECK(site.steps_of_metrics() == 4);
      auto again = more;
      again.emplace_back("--resume");
      const auto resumed = site.train_until(1000, again);
      INFO(resumed.err);
      CHECK(resumed.code == 0);
      CHECK(has(resumed.err, "resuming after step 4, in epoch 2\n"));
      CHECK(site.written() == FailingTraining::undisturbed(row.deed));
    }
}

TEST_CASE(
    "train --isolate: an optimizer that crashes between two variables loses no earlier steps, and "
    "--resume continues from them") {
  const LineWorkplace undisturbed;
  REQUIRE(undisturbed.train(failing_update({"--set", "crashes=true"})).code == 0);
  for (const std::string isolated : {"all", "fails_to_update"}) {
    const LineWorkplace site;
    const auto crashed =
        site.train_in(failing_update({"--set", "crashes=true", "--isolate", isolated}),
                      {.environment = {{"TENON_FAULT_AFTER", "11"}}});  // in step 6
    INFO(crashed.err);
    CHECK(crashed.code == 1);
    CHECK(has(crashed.err, "error: [fails_to_update] node '"));
    CHECK(has(crashed.err, "its worker process crashed with SIGABRT (fails_to_update.so)"));
    CHECK(has(crashed.err, "failed after step 5, in epoch 2; "));
    CHECK_FALSE(std::filesystem::exists(site.folder() / "m.tenon"));
    const auto resumed =
        site.train(failing_update({"--set", "crashes=true", "--isolate", isolated, "--resume"}));
    INFO(resumed.err);
    CHECK(resumed.code == 0);
    CHECK(has(resumed.err, "resuming after step 5, in epoch 2\n"));
    for (const char* name : {"m.tenon", "c.tenon"})
      CHECK(read_bytes(site.folder() / name) == read_bytes(undisturbed.folder() / name));
  }
}
