// tenon pack, and commands that open packs.
#include <doctest/doctest.h>

#include <csignal>

#include "check_says.hpp"
#include "cli/failing_calls.hpp"
#include "cli/workplace.hpp"

namespace {

/// quadratic as an example plugin, and a graph that uses it.
class PackPlace {
 public:
  PackPlace() {
    place_.write(
        "q.json",
        graph_json(
            R"({"name": "h", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 3}},
  {"name": "a", "op": "positives", "inputs": ["h"]})"));
    made_ = run({"--plugins", plugin(), "--trust-writable", "pack", "q.json", "-o", "q.pack"});
  }
  static std::string plugin() { return TENON_TEST_EXAMPLES "/positives.so"; }
  /// With `rules` for failing calls, see failing_calls.hpp.
  ProgramResult run(const Words& arguments, const std::string& rules = {}) const {
    auto place = rules.empty() ? ProgramPlace() : with_calls(rules);
    place.folder = place_.folder().path();
    place.cache = place_.folder() / "cache";
    return run_tenon(arguments, place);
  }
  const ProgramResult& made() const { return made_; }
  std::string hash() const { return made_.out.substr(0, made_.out.size() - 1); }
  const Workplace& place() const { return place_; }

 private:
  Workplace place_;
  ProgramResult made_;
};

}  // namespace

TEST_CASE(
    "pack: prints the hash with which run, show and bench open the pack, with the graph's bits") {
  const PackPlace at;
  REQUIRE(at.made().err.starts_with("wrote q.pack: 2 files, "));
  CHECK(at.made().out.size() == 7 + 64 + 1);
  CHECK(at.run({"--plugins", at.plugin(), "--trust-writable", "run", "q.json", "--shape", "x=64x4",
                "--output", "y=1.npy"})
            .code == 0);
  CHECK(at.run({"run", "q.pack", "--trust", at.hash(), "--shape", "x=64x4", "--output", "y=2.npy"})
            .code == 0);
  CHECK(read_bytes(at.place().folder() / "1.npy") == read_bytes(at.place().folder() / "2.npy"));
  CHECK(has(at.run({"show", "q.pack", "--trust", at.hash()}).out, "positives"));
  CHECK(has(at.run({"bench", "q.pack", "--trust", at.hash(), "--input", "x=x.npy"}).out, "median"));
  const auto json = at.run({"--json", "--plugins", at.plugin(), "--trust-writable", "pack",
                            "q.json", "-o", "again.pack"});
  CHECK(has(json.out, "\"sha256\": \"" + at.hash().substr(7) + "\""));
  CHECK(read_bytes(at.place().folder() / "again.pack") ==
        read_bytes(at.place().folder() / "q.pack"));
}

TEST_CASE("pack: opening needs the hash or an entry in the trust list") {
  const PackPlace at;
  const auto run = [&](const Words& more = {}) {
    Words words{"run", "q.pack", "--input", "x=x.npy"};
    words.insert(words.end(), more.begin(), more.end());
    return at.run(words);
  };
  CHECK(run().code == 4);
  check_says(run().err, {"error: q.pack is a pack", "no hash was passed", "\nhint:", "`tenon pack`",
                         "`sha256sum`", "`tenon trust add`", "--trust sha256:HASH"});
  CHECK(run({"--trust", "sha256:" + std::string(64, '0')}).code == 4);
  CHECK(run({"--trust", "q.pack"}).code == 2);
  CHECK(at.run({"trust", "add", "q.pack"}).code == 0);
  CHECK(run().code == 0);
  CHECK(has(run({"--trusted-only"}).err, "is not on your list of trusted plugins"));
  auto bytes = read_bytes(at.place().folder() / "q.pack");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 8);
  at.place().write("q.pack", bytes);
  CHECK(run().code == 4);
  CHECK(has(run({"--trust", at.hash()}).err, "q.pack is not the trusted pack: its SHA-256 is "));
  check_says(at.run({"run", "g.tenon", "--trust", at.hash(), "--input", "x=x.npy"}).err,
             {"error: --trust applies to packs only", "g.tenon is not a pack",
              "\nhint: create a pack with tenon pack"});
}

TEST_CASE("pack: writes a complete file or none, and never replaces its inputs") {
  const PackPlace at;
  CHECK(at.run({"pack", "g.tenon"}).err ==
        "error: --output is required\nhint: tenon pack net.tenon -o net.pack\n");
  CHECK(at.run({"pack", "g.tenon", "-o", "g.tenon"}).code == 2);
  CHECK(at.run({"pack", "g.tenon", "-o", "x.npy", "--with", "x.npy"}).code == 2);
  CHECK(at.run({"pack", "q.json", "-o", "missing.pack"}).code == 3);  // without the plugin
  CHECK(at.run({"pack", "g.tenon", "-o", "no/folder.pack"}).code == 4);
  CHECK(!std::filesystem::exists(at.place().folder() / "missing.pack"));

  const auto before = at.place().folder().names();
  const auto old = read_bytes(at.place().folder() / "q.pack");
  for (const auto* to : {"full.pack", "q.pack"}) {
    const auto result =
        at.run({"--plugins", at.plugin(), "--trust-writable", "pack", "q.json", "-o", to},
               "write,/#*,1,9999,error 28;write,.tmp,1,9999,error 28");
    CHECK(result.code == 1);
    CHECK(result.out == "");
    CHECK(result.err == "error: cannot write " + std::string(to) + ": the disk is full\n");
  }
  CHECK(at.place().folder().names() == before);
  CHECK(read_bytes(at.place().folder() / "q.pack") == old);
}

TEST_CASE("pack: failed or killed unpacking leaves nothing that could pass for the pack") {
  const PackPlace at;
  const auto packs = at.place().folder() / "cache/tenon/packs";
  const auto run = [&](const std::string& rules) {
    return at.run({"run", "q.pack", "--trust", at.hash(), "--input", "x=x.npy"}, rules);
  };
  const std::pair<const char*, const char*> cases[] = {
      {"write,/content/plugins/positives.so,1,1,error 28",
       "/content/plugins/positives.so: the disk is full\n"},
      {"fsync,/content/graph.tenon,1,1,error 5",
       "/content/graph.tenon: the device reported an error\n"},
      {"fsync,/content/pack.json,1,1,error 5",
       "/content/pack.json: the device reported an error\n"},
      {"rename,/packs/*,1,1,error 28", "the disk is full\n"}};
  for (const auto& each : cases) {
    const auto result = run(each.first);
    CHECK_MESSAGE(result.err.starts_with("error: cannot write " + packs.string()), result.err);
    CHECK_MESSAGE(result.err.ends_with(each.second), result.err);
    CHECK(result.code == 1);
    CHECK(std::filesystem::is_empty(packs));
  }
  int killed = 0;
  for (int call = 2; call < 99 && run("any,/packs/*," + std::to_string(call) + "," +
                                      std::to_string(call) + ",signal 9")
                                          .code == 128 + SIGKILL;
       call += 5)
    ++killed;
  CHECK(killed >= 2);
  CHECK(run("").code == 0);
  CHECK(TemporaryFolder::sorted_names(packs) == Words{at.hash().substr(7)});
}
