// The program is killed between any two calls that change files, or one of the calls fails: there
// is always the old or the new file.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "cli/failing_calls.hpp"
#include "cli/training/line_workplace.hpp"

namespace {

const char* const no_nameless_files = ";open_nameless,*,1,9999,error 95";

/// Number of kill points of a training: some, or TENON_KILL_POINTS, one after the other.
int points_of_training() {
  const char* requested = std::getenv("TENON_KILL_POINTS");
  return requested == nullptr ? 0 : std::atoi(requested);
}

std::string kill_at(const Workplace& site, int call) {
  return "any," + site.folder().path().string() + "/*," + std::to_string(call) + ',' +
         std::to_string(call) + ",signal 9";
}

/// Builds g.json, or one of the same size with other weights, as out.tenon.
ProgramResult build(const Workplace& site, int seed, const std::string& rules) {
  return site.run_in({"build", "g.json", "--seed", std::to_string(seed), "-o",
                      (site.folder() / "out.tenon").string()},
                     with_calls(rules));
}

}  // namespace

TEST_CASE(
    "build: killed before each call, it leaves the old or the new file, and the next build removes "
    "leftovers") {
  const Workplace site;
  REQUIRE(build(site, 1, "").code == 0);
  const auto old_bytes = read_bytes(site.folder() / "out.tenon");
  REQUIRE(build(site, 2, "").code == 0);
  const auto new_bytes = read_bytes(site.folder() / "out.tenon");
  const auto names = site.folder().names();
  for (const std::string more : {"", no_nameless_files}) {
    CAPTURE(more);
    int killed = 0, renamed = 0, left = 0;
    for (int call = 1; call < 100; ++call) {
      REQUIRE(build(site, 1, more.substr(more.empty() ? 0 : 1)).code == 0);
      CHECK(site.folder().names() == names);
      const auto result = build(site, 2, kill_at(site, call) + more);
      const auto bytes = read_bytes(site.folder() / "out.tenon");
      CHECK((bytes == old_bytes || bytes == new_bytes));
      if (result.code != 128 + SIGKILL) {
        CHECK(result.code == 0);
        break;
      }
      ++killed;
      renamed += bytes == new_bytes;
      left += site.folder().names() != names;
    }
    CHECK(killed >= 6);
    CHECK(renamed >= 1);
    CHECK(left >= 1);
  }
}

TEST_CASE("build: each failing call is reported with file and reason, and the old file stays") {
  const Workplace site;
  REQUIRE(build(site, 1, "").code == 0);
  const auto old_bytes = read_bytes(site.folder() / "out.tenon");
  const auto names = site.folder().names();
  const auto out = (site.folder() / "out.tenon").string();
  for (const std::string more : {"", no_nameless_files})
    for (const char* call :
         {"write", "ftruncate", "fsync", "close", "rename", "fchmod", "linkat"}) {
      if (!more.empty() && std::string_view(call) == "linkat") continue;  // for nameless files only
      CAPTURE(call);
      // The file under construction, nameless or not.
      const auto rule = [&](const char* file) {
        return std::string(call) + ',' + site.folder().path().string() + file + ",1,1,error 28";
      };
      const auto result = build(site, 2, rule("/#*") + ';' + rule("/out.tenon*") + more);
      CAPTURE(result.err);
      CHECK(result.code == 1);
      CHECK(has(result.err, "error: cannot write " + out + ": the disk is full\n"));
      CHECK(read_bytes(site.folder() / "out.tenon") == old_bytes);
      CHECK(site.folder().names() == names);
    }
}

TEST_CASE("train: a training killed between its calls continues to the same bytes") {
  const int requested = points_of_training();
  const auto words = [&](const LineWorkplace& site, bool resume) {
    const auto at = [&](const char* name) { return (site.folder() / name).string(); };
    Words all{"--epochs",
              std::to_string(2 + requested / 10),
              "--checkpoint",
              at("c.tenon"),
              "--checkpoint-every",
              "2",
              "--metrics",
              at("m.jsonl"),
              "-o",
              at("m.tenon")};
    if (resume) all.emplace_back("--resume");
    return all;
  };
  const LineWorkplace undisturbed;
  REQUIRE(undisturbed.train(words(undisturbed, false)).code == 0);
  const auto names = undisturbed.folder().names();
  int killed = 0;
  for (int call = 1; call < 10000 && (requested == 0 || killed < requested);
       call += requested == 0 ? 9 : 1) {
    const LineWorkplace site;
    CAPTURE(call);
    const int code = site.train_in(words(site, false), with_calls(kill_at(site, call))).code;
    if (code != 128 + SIGKILL) {
      CHECK(code == 0);
      break;
    }
    ++killed;
    const auto resumed = site.train(words(site, true));
    CAPTURE(resumed.err);
    CHECK(resumed.code == 0);
    for (const char* name : {"m.tenon", "c.tenon", "m.jsonl"})
      CHECK(read_bytes(site.folder() / name) == read_bytes(undisturbed.folder() / name));
    CHECK(site.folder().names() == names);
  }
  CHECK(killed >= std::max(requested, 8));
}
