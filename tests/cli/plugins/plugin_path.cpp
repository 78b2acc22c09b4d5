// Invalid entries of TENON_PLUGIN_PATH and --plugins.
#include <doctest/doctest.h>
#include <unistd.h>

#include "cli/workplace.hpp"

namespace fs = std::filesystem;

TEST_CASE(
    "TENON_PLUGIN_PATH: an invalid entry is reported by failing commands, list and doctor, and has "
    "no other effect") {
  const Workplace site;
  const auto run = [&](const Words& words, const std::string& path) {
    return site.run_in(words, {.environment = {{"TENON_PLUGIN_PATH", path}}});
  };
  const auto plugin = TENON_TEST_FAULTS "/libraries/version1/counts.so";
  fs::create_directory(site.folder() / "good");
  fs::copy_file(plugin, site.folder() / "good/counts.so");
  fs::permissions(site.folder() / "good", fs::perms(0755));
  fs::permissions(site.folder() / "good/counts.so", fs::perms(0755));
  const auto typo = (site.folder() / "goood").string(), good = (site.folder() / "good").string();
  const std::string sentence =
      "plugin folder '" + typo + "' cannot be read: there is no such folder (TENON_PLUGIN_PATH)";
  const Words call{"call", "counts", "--input", "x=x.npy"},
      relu{"call", "relu", "--input", "x=x.npy"};

  for (const auto& words :
       {call,
        {"inspect", "counts"},
        {"list", "counts"},
        {"docs", "counts"},
        {"typing", "counts"},
        {"train", "g.json", "--data", "x=x.npy", "--optimizer", "counts", "-o", "m.tenon"}}) {
    const auto failed = run(words, typo);
    CAPTURE(words[0]);
    CAPTURE(failed.err);
    CHECK(failed.code == 3);
    CHECK(has(failed.err, "; " + sentence));
  }
  CHECK(has(run({"list"}, typo).err, "note: " + sentence));
  CHECK(has(run({"--json", "list"}, typo).out, "goood"));
  const auto doctor = run({"doctor"}, typo + ":/dev/null");
  CHECK(doctor.code == 1);
  CHECK(has(doctor.out, sentence + "   <-- look here"));
  CHECK(has(doctor.out, "plugin folder '/dev/null' cannot be read: "));
  CHECK(run(relu, typo).code == 0);

  for (const auto& path : {typo + ":" + good, std::string("goood:good/"), good + "/counts.so",
                           std::string("good/counts.so:goood")}) {
    CAPTURE(path);
    const auto found = run(call, path);
    CAPTURE(found.err);
    CHECK(found.code == 0);
  }
}

TEST_CASE("TENON_PLUGIN_PATH: an unreadable folder does not hide others") {
  if (geteuid() == 0) return;  // root may read everything
  const Workplace site;
  fs::create_directory(site.folder() / "locked");
  fs::permissions(site.folder() / "locked", fs::perms::none);
  const auto run = [&](const Words& words) {
    return site.run_in(
        words, {.environment = {{"TENON_PLUGIN_PATH", (site.folder() / "locked").string()}}});
  };
  CHECK(run({"call", "relu", "--input", "x=x.npy"}).code == 0);
  CHECK(has(run({"doctor"}).out, "locked' cannot be read: Permission denied (TENON_PLUGIN_PATH)"));
  fs::permissions(site.folder() / "locked", fs::perms::all);
}

TEST_CASE("doctor: reports invalid --plugins, --isolate, --prefer and --device") {
  const Workplace site;
  for (const auto& words : {Words{"--plugins", "nowhere"},
                            {"--isolate", "nowhere"},
                            {"--prefer", "nowhere"},
                            {"--device", "nowhere"}}) {
    auto doctor = words;
    doctor.emplace_back("doctor");
    const auto result = site.run(doctor);
    CAPTURE(words[0]);
    CAPTURE(result.err);
    CHECK(result.code == 1);
    CHECK(has(result.out, "nowhere"));
    CHECK(has(result.out, "ABI "));
    CHECK(has(result.out, "usable file"));
  }
  const auto list = site.run({"--plugins", "nowhere", "list"});
  CHECK(list.code == 4);
  CHECK(has(list.err, "nowhere' cannot be read: there is no such folder"));
}
