// stdin, stdout and stderr that are closed, broken or on a full disk.
#include <doctest/doctest.h>

#include <csignal>

#include "cli/workplace.hpp"

namespace {

/// A command line of every command that prints a result.
const std::vector<Words> printing{{"--help"},
                                  {"train", "--help"},
                                  {"--version"},
                                  {"list"},
                                  {"--json", "list"},
                                  {"inspect", "relu"},
                                  {"show", "g.tenon"},
                                  {"--json", "show", "g.tenon"},
                                  {"show", "g.tenon", "--dot"},
                                  {"show", "g.tenon", "--plan"},
                                  {"validate", "g.tenon"},
                                  {"run", "g.tenon", "--input", "x=x.npy"},
                                  {"--json", "run", "g.tenon", "--input", "x=x.npy"},
                                  {"bench", "g.tenon", "--input", "x=x.npy", "--runs", "1"},
                                  {"new", "my_op"},
                                  {"man"},
                                  {"completion", "bash"}};

}  // namespace

TEST_CASE("streams: results lost on stdout are reported with exit code 1, for every command") {
  const Workplace site;
  for (const auto& arguments : printing) {
    CAPTURE(command_line(arguments));
    const auto result = site.run_in(arguments, {.out = "/dev/full"});
    CHECK(result.code == 1);
    CHECK(has(result.err, "cannot write to standard output: the disk is full"));
  }
}

TEST_CASE("streams: a closed pipe ends a command silently; a broken stderr has no effect") {
  const Workplace site;
  for (const auto& arguments : {Words{"list"}, Words{"man"}, Words{"--version"}}) {
    CAPTURE(command_line(arguments));
    const auto result = site.run_in(arguments, {.out = "broken"});
    CHECK(result.code == 128 + SIGPIPE);
    CHECK(result.err.empty());
  }
  for (const char* err : {"broken", "/dev/full", "closed"}) {
    CAPTURE(err);
    CHECK(site.run_in({"build", "g.json", "-o", "again.tenon"}, {.err = err}).code == 0);
    CHECK(read_bytes(site.folder() / "again.tenon") == read_bytes(site.folder() / "g.tenon"));
    CHECK(site.run_in({"lst"}, {.err = err}).code == 2);
    const auto run = site.run_in({"run", "g.tenon"}, {.err = err});
    CHECK(run.code == 0);
    CHECK(run.out.starts_with("y  float32"));
  }
}

TEST_CASE("streams: files never go to a closed stream") {
  const Workplace site;
  const auto expected =
      site.run({"run", "g.tenon", "--input", "x=x.npy", "--output", "y=expected.npy"});
  REQUIRE(expected.code == 0);
  const auto result =
      site.run_in({"run", "g.tenon", "--output", "y=y.npy"}, {.out = "closed", .err = "closed"});
  CHECK(result.code == 0);
  // one random row
  CHECK(read_bytes(site.folder() / "y.npy").size() ==
        read_bytes(site.folder() / "expected.npy").size() - 12);
  CHECK(site.run_in({"--json", "show", "g.tenon"}, {.out = "closed"}).code == 0);
}
