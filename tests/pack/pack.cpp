// Packs: what goes in comes out, once, and nothing else does.
#include <sys/stat.h>

#include <tenon/host/pack.hpp>
#include <tenon/host/trust.hpp>

#include "../built.hpp"
#include "../failure_of.hpp"
#include "../file/zip_builder.hpp"
#include "../temporary_folder.hpp"
#include "io/sha256.hpp"

namespace {

namespace fs = std::filesystem;

std::string sum_of_text(const std::string& text) {
  tenon::Sha256 sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.hexadecimal();
}

/// A graph with a plugin of its own, which needs libraries beside it.
struct Packed {
  Packed() : host(options()) {
    host.add_plugins(built("plugins"));
    for (const auto* name : {"needs_beside.so", "libbeside.so", "libbelow.so"})
      fs::copy_file(fs::path(TENON_TEST_FAULTS) / "beside" / name, folder / name);
    host.add_plugins(folder / "needs_beside.so");
  }
  tenon::HostOptions options() const {
    tenon::HostOptions options;
    options.search_defaults = false;
    options.cache = folder / "cache";
    options.config = folder / "config";
    return options;
  }
  tenon::Graph graph() {
    tenon::Graph graph(host);
    const auto x = graph.input("x", tenon::f32, {-1, 2});
    graph.output("y", graph.add("relu", {graph.add("needs_beside", {x}, {}, "a")}));
    return graph;
  }
  tenon::SavedPack save(const std::string& name, const tenon::PackOptions& more = {}) {
    auto made = graph();
    return tenon::save_pack(made, folder / name, more);
  }
  tenon::PackTrust trust(const std::string& hash = {}) const { return {hash, folder / "config", folder / "cache"}; }
  fs::path unpacked() const { return folder / "cache/packs"; }

  TemporaryFolder folder;
  tenon::Host host;
};

/// pack.json of members that have the hashes of their content.
std::string list_of(const std::vector<BuiltMember>& members, const std::string& plugins = "") {
  std::string text = R"({"tenon_pack": 1, "made_by": "a test", "plugins": [)" + plugins + R"(], "members": [)";
  for (const auto& member : members)
    text += (&member == &members[0] ? "" : ", ") + (R"({"name": ")" + member.name) + R"(", "size": )" +
            std::to_string(member.content.size()) + R"(, "sha256": ")" + sum_of_text(member.content) + "\"}";
  return text + "]}";
}
std::string pack_of(std::vector<BuiltMember> members, const std::string& plugins = "") {
  const auto list = list_of(members, plugins);
  members.insert(members.begin(), {"pack.json", list});
  return zip_of(members);
}

}  // namespace

TEST_CASE("a pack has the graph, its plugin and what that needs, is always the same, and runs where the plugin is not") {
  Packed on;
  const auto saved = on.save("net.pack");
  std::vector<std::string> names;
  for (const auto& member : saved.members) names.push_back(member.name);
  CHECK(names == std::vector<std::string>{"graph.tenon", "plugins/libbelow.so", "plugins/libbeside.so", "plugins/needs_beside.so"});
  CHECK(saved.sha256 == sum_of_text(read_bytes(on.folder / "net.pack")));
  CHECK(on.save("again.pack").sha256 == saved.sha256);
  CHECK(read_bytes(on.folder / "again.pack") == read_bytes(on.folder / "net.pack"));
  CHECK(tenon::is_pack(on.folder / "net.pack"));
  CHECK(!tenon::is_pack(on.folder / "libbelow.so"));

  for (const auto* name : {"needs_beside.so", "libbeside.so", "libbelow.so"}) fs::remove(on.folder / name);
  tenon::Host elsewhere(on.options());
  elsewhere.add_plugins(built("plugins"));
  const auto graph = tenon::load_pack(elsewhere, on.folder / "net.pack", {.sha256 = "sha256:" + saved.sha256});
  CHECK(tenon::Session(graph).run({{"x", tenon::Tensor::from({1.0F, 2.0F}, {1, 2})}}).at("y").size() == 2);
  const auto folder = on.unpacked() / saved.sha256;
  struct stat status {};
  REQUIRE(stat(folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0700U);
  CHECK(TemporaryFolder::sorted_names(on.unpacked()) == std::vector{saved.sha256});
  CHECK(TemporaryFolder::sorted_names(folder) == std::vector<std::string>{"graph.tenon", "pack.json", "plugins"});
}

TEST_CASE("a pack is opened by its hash or from the list, and by nothing else") {
  Packed on;
  const auto saved = on.save("net.pack");
  const auto path = on.folder / "net.pack";
  const auto refused = [&](const std::string& hash) { return failure_of([&] { tenon::open_pack(path, on.trust(hash)); }); };
  CHECK(refused("").message == path.string() + " is a pack, which holds code: it is opened only by its hash, and none is given");
  CHECK(refused("").hint.find("sha256sum") != std::string::npos);
  CHECK(refused(std::string(64, 'a')).message ==
        path.string() + " is not the pack that is trusted: its SHA-256 is " + saved.sha256 + ", and not " + std::string(64, 'a'));
  for (const auto* text : {"sha256:", "sha256:12", "md5:abc", "SHA256"})
    CHECK(refused(text).message.find("is no hash of a pack: it must be sha256: and 64 digits") != std::string::npos);
  CHECK(!fs::exists(on.unpacked()));
  tenon::trust_plugin(path, on.folder / "config");
  CHECK(refused("").message == "");

  const auto bytes = read_bytes(path);
  for (std::size_t at = 0; at < bytes.size(); at += bytes.size() / 40) {
    auto changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write_bytes(path, changed);
    CHECK(refused(saved.sha256).message.find("is not the pack that is trusted") != std::string::npos);
    CHECK(refused("").message.find("it is opened only by its hash") != std::string::npos);
  }
}

TEST_CASE("packs with a right hash and wrong members are refused, and leave nothing") {
  const Packed on;
  const BuiltMember graph{"graph.tenon", "a graph"};
  const auto other = [&](auto change) {
    auto made = graph;
    change(made);
    return made;
  };
  const auto link = other([](auto& member) { member.mode = S_IFLNK | 0777U; });
  const auto list = list_of({graph});
  const struct {
    const char* why;
    std::string bytes;
  } cases[] = {
      {"was it cut short?", pack_of({graph}).substr(0, 200)},
      {"'../x' may not be in a pack", pack_of({graph, {"../x", ""}})},
      {"'/tmp/x' may not be in a pack", pack_of({graph, {"/tmp/x", ""}})},
      {"'plugins/../x' may not be in a pack", pack_of({graph, {"plugins/../x", ""}})},
      {"'plugins/..' may not be in a pack", pack_of({graph, {"plugins/..", ""}})},
      {"'plugins/' may not be in a pack", pack_of({graph, {"plugins/", ""}})},
      {"its member pack.json is there twice", pack_of({graph, {"pack.json", ""}})},
      {"graph.tenon is no plain file", pack_of({link})},
      {"graph.tenon is there twice", zip_of({{"pack.json", list}, graph, graph})},
      {"'graph.tenon' is there twice", zip_of({{"pack.json", list_of({graph, graph})}, graph})},
      {"graph.tenon is not among the members", pack_of({{"plugins/a.so", ""}})},
      {"'plugins/b.so' is not among the members", pack_of({graph, {"plugins/a.so", ""}}, "\"plugins/b.so\"")},
      {"'graph.tenon' is not among the members", pack_of({graph}, "\"graph.tenon\"")},
      {"its first member is not pack.json", zip_of({graph, {"pack.json", list}})},
      {"it has other members than its pack.json says", zip_of({{"pack.json", list}, graph, {"plugins/a.so", ""}})},
      {"its pack.json says that it has plugins/a.so",
       zip_of({{"pack.json", list_of({graph, {"plugins/a.so", ""}})}, graph, {"plugins/b.so", ""}})},
      {"graph.tenon has 7 bytes, and not 8", zip_of({{"pack.json", list_of({{"graph.tenon", "8 bytes."}})}, graph})},
      {"graph.tenon has not the hash that its pack.json says", zip_of({{"pack.json", list_of({{"graph.tenon", "7 bytes"}})}, graph})},
      {"is compressed or encrypted", pack_of({other([](auto& member) { member.method = 8; })})},
      {"is compressed or encrypted", pack_of({other([](auto& member) { member.flags = 1; })})},
      {"is compressed or encrypted", pack_of({other([](auto& member) { member.size = 0xfffffff0; })})},
      {"graph.tenon has 4294967280 bytes, and not 7",
       pack_of({other([](auto& member) { member.size = member.stored_size = 0xfffffff0; })})},
      {"its checksum is not the one", pack_of({other([](auto& member) { member.crc = 1; })})},
      {"its list of members leads elsewhere", pack_of({other([](auto& member) { member.offset = 99999; })})},
      {"'tenon_pack' is 2", zip_of({{"pack.json", R"({"tenon_pack": 2})"}, graph})},
      {"pack.json:1:", zip_of({{"pack.json", "no list"}, graph})},
      {"is no SHA-256", zip_of({{"pack.json", std::string(list).replace(list.rfind('"') - 64, 64, "a")}, graph})},
      {"it is empty", ""},
  };
  for (const auto& each : cases) {
    const auto& why = each.why;
    const auto& bytes = each.bytes;
    const auto path = on.folder / "bad.pack";
    write_bytes(path, bytes);
    const auto failure = failure_of([&] { tenon::open_pack(path, on.trust(sum_of_text(bytes))); });
    CHECK_MESSAGE(failure.message.find(why) != std::string::npos, failure.message);
    CHECK(failure.kind == static_cast<int>(tenon::FailureKind::file));
    CHECK(fs::is_empty(on.unpacked()));
    CHECK(!fs::exists(on.folder / "x"));
  }
  write_bytes(on.folder / "good.pack", pack_of({graph}));
  CHECK(failure_of([&] { tenon::open_pack(on.folder / "good.pack", on.trust(sum_of_text(pack_of({graph})))); }).message == "");
}

TEST_CASE("a pack is unpacked once, however many ask, and again where its files are gone") {
  Packed on;
  const auto saved = on.save("net.pack");
  const auto open = [&] { return tenon::open_pack(on.folder / "net.pack", on.trust(saved.sha256)); };
  fs::create_directories(on.unpacked() / ("new-" + saved.sha256) / "content");  // of one that was killed
  fs::permissions(on.unpacked(), fs::perms::owner_all);
  std::vector<std::thread> all;
  std::vector<ino_t> files(8);
  for (auto& file : files)
    all.emplace_back([&open, &file] {
      struct stat status {};
      if (stat(open().graph.c_str(), &status) == 0) file = status.st_ino;
    });
  for (auto& each : all) each.join();
  for (const auto file : files) CHECK((file != 0 && file == files[0]));
  CHECK(TemporaryFolder::sorted_names(on.unpacked()) == std::vector{saved.sha256});
  const auto plugin = open().plugins.at(0);
  fs::remove(plugin);
  CHECK(open().plugins.at(0) == plugin);
  CHECK(fs::exists(plugin));

  fs::permissions(on.unpacked(), fs::perms::all);
  CHECK(failure_of(open).message == "cannot use " + on.unpacked().string() + ": others may write to it, and packs are unpacked there");
}

TEST_CASE("what cannot be packed is said, and no file is written") {
  Packed on;
  fs::create_directory(on.folder / "more");
  write_bytes(on.folder / "more/libbelow.so", "another one");
  write_bytes(on.folder / ".hidden", "");
  write_bytes(on.folder / "table.bin", "numbers");
  const auto refused = [&](const char* with) { return failure_of([&] { on.save("net.pack", {.with = {on.folder / with}}); }).message; };
  CHECK(refused("more/libbelow.so").find("have one name, and a pack has one folder for both") != std::string::npos);
  CHECK(refused(".hidden").find("cannot be in a pack: its name begins with a point") != std::string::npos);
  CHECK(refused("missing").find("there is no such file") != std::string::npos);
  CHECK(!fs::exists(on.folder / "net.pack"));
  CHECK(on.save("net.pack", {.with = {on.folder / "table.bin"}}).members.back().name == "plugins/table.bin");
}
