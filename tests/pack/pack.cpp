// Packs round-trip; everything else is refused.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <tenon/host/pack.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/trust.hpp>
#include <tenon/host/udf.hpp>
#include <thread>

#include "../file/zip_builder.hpp"
#include "../probe_operators.hpp"
#include "check_says.hpp"
#include "pack/pack_list.hpp"
#include "pack/packed.hpp"
#include "plugin/loading/system_loader.hpp"

namespace {

/// A pack.json whose hashes match the members' content.
std::string list_of(const std::vector<BuiltMember>& members, const std::string& plugins = "") {
  std::string text =
      R"({"tenon_pack": 1, "made_by": "a test", "plugins": [)" + plugins + R"(], "members": [)";
  for (const auto& member : members)
    text += (&member == &members[0] ? "" : ", ") + (R"({"name": ")" + member.name) +
            R"(", "size": )" + std::to_string(member.content.size()) + R"(, "sha256": ")" +
            sum_of_text(member.content) + "\"}";
  return text + "]}";
}
std::string pack_of(std::vector<BuiltMember> members, const std::string& plugins = "") {
  const auto list = list_of(members, plugins);
  members.insert(members.begin(), {"pack.json", list});
  return zip_of(members);
}

std::string fault(const std::string& name) {
  return TENON_TEST_FAULTS "/" + name + ".so";
}

}  // namespace

TEST_CASE(
    "pack: holds the graph, its plugin and needed libraries, is reproducible, and runs where the "
    "plugin is not installed") {
  Packed on;
  const auto saved = on.save("net.pack");
  std::vector<std::string> names;
  for (const auto& member : saved.members) names.push_back(member.name);
  CHECK(names == std::vector<std::string>{"graph.tenon", "plugins/libbelow.so",
                                          "plugins/libbeside.so", "plugins/needs_beside.so"});
  CHECK(saved.sha256 == sum_of_text(read_bytes(on.folder / "net.pack")));
  CHECK(on.save("again.pack").sha256 == saved.sha256);
  CHECK(read_bytes(on.folder / "again.pack") == read_bytes(on.folder / "net.pack"));
  CHECK(tenon::is_pack(on.folder / "net.pack"));
  CHECK(!tenon::is_pack(on.folder / "libbelow.so"));

  for (const auto* name : {"needs_beside.so", "libbeside.so", "libbelow.so"})
    fs::remove(on.folder / name);
  tenon::Host elsewhere(on.options());
  elsewhere.add_plugins(built("plugins"));
  const auto graph =
      tenon::load_pack(elsewhere, on.folder / "net.pack", {.sha256 = "sha256:" + saved.sha256});
  CHECK(tenon::Session(graph)
            .run({{"x", tenon::Tensor::from({1.0F, 2.0F}, {1, 2})}})
            .at("y")
            .size() == 2);
  const auto folder = on.unpacked() / saved.sha256;
  struct stat status {};
  REQUIRE(stat(folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0700U);
  CHECK(TemporaryFolder::sorted_names(on.unpacked()) == std::vector{saved.sha256});
  CHECK(TemporaryFolder::sorted_names(folder) ==
        std::vector<std::string>{"graph.tenon", "pack.json", "plugins"});
  REQUIRE(stat((folder / "plugins/needs_beside.so").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0400U);
}

TEST_CASE("pack: only an archive that begins with pack.json is a pack") {
  const TemporaryFolder folder;
  const auto name = std::string("pack.json"), filled = std::string(26, '.') + name;
  const auto archive = zip_of({{name, "{}"}});
  const std::pair<std::string, bool> cases[] = {{archive, true},
                                                {archive.substr(0, 39), true},
                                                {archive.substr(0, 38), false},
                                                {"", false},
                                                {"PK\3\4" + filled, true},
                                                {"PK\3\5" + filled, false},
                                                {zip_of({{"graph.tenon", "a graph"}}), false}};
  for (const auto& each : cases) {
    write_bytes(folder / "file", each.first);
    CHECK(tenon::is_pack(folder / "file") == each.second);
  }
  CHECK(!tenon::is_pack(folder / "missing"));
  CHECK(!tenon::is_pack(folder.path()));
}

TEST_CASE("pack: pack.json round-trips, and only plain names are members") {
  const tenon::PackList list{{"plugins/a.so", "plugins/b \"c\".so"},
                             {{"graph.tenon", 7, std::string(64, '0')},
                              {"plugins/a.so", 1, std::string(64, '1')},
                              {"plugins/b \"c\".so", 2, std::string(64, 'f')}}};
  const auto read = tenon::read_pack_list(to_text(list), "list");
  CHECK(read.plugins == list.plugins);
  CHECK(to_text(read) == to_text(list));
  for (const auto& name :
       {std::string("graph.tenon"), std::string("plugins/a"), "plugins/" + std::string(255, 'a')})
    CHECK(tenon::is_member_name(name));
  for (const auto& name :
       {std::string(), std::string("pack.json"), std::string("plugins/"), std::string("plugins/.a"),
        std::string("plugins/a/b"), std::string("plugins/a\\b"), std::string("plugins/a\nb"),
        "plugins/" + std::string(256, 'a')})
    CHECK_MESSAGE(!tenon::is_member_name(name), name);
}

TEST_CASE("pack: opens only by its hash or from the trusted list") {
  Packed on;
  const auto saved = on.save("net.pack");
  const auto path = on.folder / "net.pack";
  const auto refused = [&](const std::string& hash) {
    return failure_of([&] { tenon::open_pack(path, on.trust(hash)); });
  };
  CHECK(refused("").message ==
        path.string() +
            " is a pack, which holds code: its hash must be trusted, but no hash was passed");
  CHECK(refused("").hint.find("sha256sum") != std::string::npos);
  tenon::trust_plugin(on.folder / "libbelow.so", on.folder / "config");
  CHECK(refused("").message.find("its hash must be trusted") != std::string::npos);
  CHECK(refused(std::string(64, 'a')).message ==
        path.string() + " is not the trusted pack: its SHA-256 is " + saved.sha256 + ", not " +
            std::string(64, 'a'));
  for (const auto* text : {"sha256:", "sha256:12", "md5:abc", "SHA256"})
    CHECK(refused(text).message.find("is not a pack's hash: it must be sha256: and 64 digits") !=
          std::string::npos);
  CHECK(!fs::exists(on.unpacked()));
  tenon::trust_plugin(path, on.folder / "config");
  CHECK(refused("").message == "");
  auto near = saved.sha256;
  near.back() = near.back() == '0' ? '1' : '0';
  CHECK(refused(near).message.find("is not the trusted pack") != std::string::npos);

  const auto bytes = read_bytes(path);
  for (std::size_t at = 0; at < bytes.size(); at += bytes.size() / 40) {
    auto changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write_bytes(path, changed);
    CHECK(refused(saved.sha256).message.find("is not the trusted pack") != std::string::npos);
    CHECK(refused("").message.find("its hash must be trusted") != std::string::npos);
  }
}

TEST_CASE("pack: a right hash with wrong members is refused and leaves nothing") {
  const Packed on;
  const BuiltMember graph{"graph.tenon", "a graph"};
  const auto other = [&](auto change) {
    auto made = graph;
    change(made);
    return made;
  };
  const auto link = other([](auto& member) { member.mode = S_IFLNK | 0777U; });
  auto large = other([](auto& member) { member.name = "pack.json"; });
  large.size = large.stored_size = (16U << 20) + 1;
  const auto list = list_of({graph});
  const auto changed_list = [&](const std::string& from, const std::string& to) {
    return zip_of(
        {{"pack.json", std::string(list).replace(list.find(from), from.size(), to)}, graph});
  };
  const struct {
    const char* why;
    std::string bytes;
  } cases[] = {
      {"was it truncated?", pack_of({graph}).substr(0, 200)},
      {"'../x' is not allowed in a pack", pack_of({graph, {"../x", ""}})},
      {"'/tmp/x' is not allowed in a pack", pack_of({graph, {"/tmp/x", ""}})},
      {"'plugins/../x' is not allowed in a pack", pack_of({graph, {"plugins/../x", ""}})},
      {"'plugins/..' is not allowed in a pack", pack_of({graph, {"plugins/..", ""}})},
      {"'plugins/' is not allowed in a pack", pack_of({graph, {"plugins/", ""}})},
      {"its member pack.json occurs twice", pack_of({graph, {"pack.json", ""}})},
      {"graph.tenon is not a regular file", pack_of({link})},
      {"graph.tenon is not a regular file",
       pack_of({other([](auto& member) { member.mode = S_IFDIR | 0755U; })})},
      {"graph.tenon occurs twice", zip_of({{"pack.json", list}, graph, graph})},
      {"'graph.tenon' occurs twice", zip_of({{"pack.json", list_of({graph, graph})}, graph})},
      {"graph.tenon is not among the members", pack_of({{"plugins/a.so", ""}})},
      {"'plugins/b.so' is not among the members",
       pack_of({graph, {"plugins/a.so", ""}}, "\"plugins/b.so\"")},
      {"'graph.tenon' is not among the members", pack_of({graph}, "\"graph.tenon\"")},
      {"its first member is not pack.json", zip_of({graph, {"pack.json", list}})},
      {"its first member is not pack.json", zip_of({})},
      {"its pack.json is larger than 16 MiB", zip_of({large})},
      {"its members differ from those listed in pack.json",
       zip_of({{"pack.json", list}, graph, {"plugins/a.so", ""}})},
      {"its pack.json lists plugins/a.so, which is missing",
       zip_of(
           {{"pack.json", list_of({graph, {"plugins/a.so", ""}})}, graph, {"plugins/b.so", ""}})},
      {"graph.tenon has 7 bytes but pack.json says 8",
       zip_of({{"pack.json", list_of({{"graph.tenon", "8 bytes."}})}, graph})},
      {"the hash of graph.tenon does not match its pack.json",
       zip_of({{"pack.json", list_of({{"graph.tenon", "7 bytes"}})}, graph})},
      {"the hash of graph.tenon does not match its pack.json",
       changed_list(sum_of_text(graph.content),
                    std::string(sum_of_text(graph.content), 0, 63) +
                        (sum_of_text(graph.content).back() == '0' ? "1" : "0"))},
      {"is compressed or encrypted", pack_of({other([](auto& member) { member.method = 8; })})},
      {"is compressed or encrypted", pack_of({other([](auto& member) { member.flags = 1; })})},
      {"is compressed or encrypted",
       pack_of({other([](auto& member) { member.size = 0xfffffff0; })})},
      {"graph.tenon has 4294967280 bytes but pack.json says 7",
       pack_of({other([](auto& member) { member.size = member.stored_size = 0xfffffff0; })})},
      {"its checksum does not match", pack_of({other([](auto& member) { member.crc = 1; })})},
      {"its directory does not match the member headers",
       pack_of({other([](auto& member) { member.offset = 99999; })})},
      {"'tenon_pack' is 2", zip_of({{"pack.json", R"({"tenon_pack": 2})"}, graph})},
      {"'tenon_pack' is 0", changed_list(": 1,", ": 0,")},
      {"'size' is -1", changed_list(": 7", ": -1")},
      {"'made_by'", changed_list("\"a test\"", "7")},
      {"'more'", changed_list("\"tenon_pack\"", "\"more\": 1, \"tenon_pack\"")},
      {"'more'", changed_list("\"size\"", "\"more\": 1, \"size\"")},
      {"pack.json:1:", zip_of({{"pack.json", "no list"}, graph})},
      {"is not a SHA-256 hash",
       zip_of({{"pack.json", std::string(list).replace(list.rfind('"') - 64, 64, "a")}, graph})},
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
  CHECK(failure_of([&] {
          tenon::open_pack(on.folder / "good.pack", on.trust(sum_of_text(pack_of({graph}))));
        }).message == "");
}

TEST_CASE("pack: is unpacked once for concurrent users, and again if its files are gone") {
  Packed on;
  const auto saved = on.save("net.pack");
  const auto open = [&] {
    return tenon::open_pack(on.folder / "net.pack", on.trust(saved.sha256));
  };
  fs::create_directories(on.unpacked() / ("new-" + saved.sha256) /
                         "content/plugins");  // left by a killed process
  write_bytes(on.unpacked() / ("new-" + saved.sha256) / "pack", "half of it");
  write_bytes(on.unpacked() / ("new-" + saved.sha256) / "content/plugins/other.so", "");
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
  const auto content = read_bytes(plugin);
  fs::permissions(plugin, fs::perms::owner_all);
  fs::resize_file(plugin, content.size() - 1);
  CHECK(open().plugins.at(0) == plugin);
  CHECK(read_bytes(plugin) == content);
  const auto list = on.unpacked() / saved.sha256 / "pack.json";
  fs::permissions(list, fs::perms::owner_all);
  fs::resize_file(list, 100);
  CHECK(open().plugins.at(0) == plugin);
  CHECK(fs::file_size(list) > 100);
  CHECK(TemporaryFolder::sorted_names(plugin.parent_path()) ==
        std::vector<std::string>{"libbelow.so", "libbeside.so", "needs_beside.so"});
}

TEST_CASE("pack: what cannot be packed is reported, and no file is written") {
  Packed on;
  fs::create_directory(on.folder / "more");
  auto other = read_bytes(on.folder / "libbelow.so");
  other.back() = static_cast<char>(other.back() ^ 1);
  write_bytes(on.folder / "more/libbelow.so", other);
  write_bytes(on.folder / ".hidden", "");
  write_bytes(on.folder / "table.bin", "numbers");
  write_bytes(on.folder / "more/table.bin", "numbers");
  const auto refused = [&](const char* with) {
    return failure_of([&] { on.save("net.pack", {.with = {on.folder / with}}); }).message;
  };
  CHECK(refused("more/libbelow.so")
            .find("have the same name, but a pack has a single folder for both") !=
        std::string::npos);
  CHECK(refused(".hidden").find("cannot be in a pack: its name begins with a dot") !=
        std::string::npos);
  CHECK(refused("missing").find("there is no such file") != std::string::npos);
  CHECK(!fs::exists(on.folder / "net.pack"));
  const auto twice =
      on.save("net.pack", {.with = {on.folder / "table.bin", on.folder / "more/table.bin"}});
  CHECK(twice.members.back().name == "plugins/table.bin");
  CHECK(twice.members.size() == 5);

  auto own = on.graph();
  on.host.add<probes::Seven>();
  own.output("z", own.add("seven", std::vector<tenon::Value>()));
  check_says(failure_of([&] { tenon::save_pack(own, on.folder / "own.pack"); }).message,
             {"operator 'app.seven'", "by the application", "not by a plugin"});
  tenon::Host inner(on.options());
  inner.add_plugins(TENON_TEST_FAULTS "/needs_inner.so");
  tenon::Graph graph(inner);
  graph.output("y", graph.add("needs_beside", {graph.input("x", tenon::f32, {2})}));
  check_says(failure_of([&] { tenon::save_pack(graph, on.folder / "own.pack"); }).message,
             {".so, which is in another folder", "a pack has a single folder"});
  CHECK(!fs::exists(on.folder / "own.pack"));
}

TEST_CASE(
    "pack: a plugin whose library is in a CPU-specific subfolder or below a token is packed alone "
    "or not at all") {
  for (const bool token : {false, true}) {
    CAPTURE(token);
    Packed on;
    const auto file = on.folder / "moved/from_library.so";
    fs::create_directories(on.folder / "moved");
    const auto libraries = fs::path(TENON_TEST_FAULTS) / "libraries";
    if (token) {
      fs::copy_file(libraries / "lib/from_library.so", file);  // its run path is $ORIGIN/../$LIB
      for (const auto* lib : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
        fs::create_directories(on.folder / lib);
        fs::copy_file(libraries / "2/libnumber.so",
                      on.folder / (std::string(lib) + "/libnumber.so"));
      }
    } else {
      const std::string folders[] = {
          "moved", "moved/" + tenon::LoaderRules::of_this_machine().subfolders.front()};
      if (folders[1] == "moved/") continue;
      fs::copy_file(TENON_TEST_FAULTS "/beside/needs_beside.so", file);
      for (const auto& folder : folders) {
        fs::create_directories(on.folder / folder);
        for (const auto* name : {"libbeside.so", "libbelow.so"})
          fs::copy_file(fs::path(TENON_TEST_FAULTS) / "beside" / name,
                        on.folder / (folder + "/" + name));
      }
    }
    tenon::Host host(on.options());
    host.add_plugins(file);
    tenon::Graph graph(host);
    graph.output("y", graph.add(token ? "from_library" : "needs_beside",
                                {graph.input("x", tenon::f32, {2})}));
    check_says(failure_of([&] { tenon::save_pack(graph, on.folder / "net.pack"); }).message,
               {".so, which is in another folder", "a pack has a single folder"});
    CHECK(!fs::exists(on.folder / "net.pack"));
  }
}

TEST_CASE(
    "pack: includes every plugin that the graph uses or that was loaded, their signatures, and no "
    "other plugin") {
  const Packed on;
  const std::pair<const char*, const char*> copies[] = {
      {"split_operator", "a/z.so"},      {"split_kernel", "b/y.so"},
      {"split_cuda_kernel", "b/x.so"},   {"plain", "c/plain.so"},
      {"keeps_bounds", "c/loaded.so"},   {"which_kernel", "d/which.so"},
      {"which_kernel_more", "d/more.so"}};
  fs::create_directories(on.folder / "e");
  fs::copy_file(TENON_TEST_EXAMPLES "/swiglu.so", on.folder / "e/composed.so");
  for (const auto& each : copies) {
    fs::create_directories((on.folder / each.second).parent_path());
    fs::copy_file(fault(each.first), on.folder / each.second);
  }
  write_bytes(on.folder / "b/y.so.sig", "a signature");
  const auto names_in = [&](tenon::Graph& graph) {
    std::vector<std::string> names;
    for (const auto& member : tenon::save_pack(graph, on.folder / "net.pack").members)
      names.push_back(member.name);
    return names;
  };
  tenon::Host host(on.options());
  for (const auto* folder : {"a", "b", "c"}) host.add_plugins(on.folder / folder);
  host.call("keeps_bounds", {tenon::Tensor::from({1.0F}, {1})});
  tenon::Graph graph(host);
  graph.output("z", graph.add("split", {graph.input("s", tenon::f32, {2})}));
  graph.output("c", graph.add("cast_storage", {graph.input("m", tenon::f32, {2, 2})},
                              {{"storage", "csr"}}));  // a host operator
  CHECK(names_in(graph) == std::vector<std::string>{"graph.tenon", "plugins/loaded.so",
                                                    "plugins/x.so", "plugins/y.so",
                                                    "plugins/y.so.sig", "plugins/z.so"});
  const auto hash = sum_of_text(read_bytes(on.folder / "net.pack"));
  const auto opened = tenon::open_pack(on.folder / "net.pack", on.trust(hash));
  CHECK(opened.sha256 == hash);
  std::vector<std::string> names;
  for (const auto& plugin : opened.plugins) names.push_back(plugin.filename().string());
  CHECK(names == std::vector<std::string>{"loaded.so", "x.so", "y.so", "z.so"});

  auto isolated = on.options();
  isolated.isolate.all = true;  // workers load it, this process does not
  isolated.warn = [](const std::string&) {};
  tenon::Host workers(isolated);
  workers.add_plugins(built("plugins"));
  for (const auto* folder : {"a", "b", "d", "e"}) workers.add_plugins(on.folder / folder);
  auto which =
      tenon::Graph::from_json(workers,
                              R"({"tenon": 1, "inputs": {"x": {"dtype": "float32", "shape": [2]},
                                 "m": {"dtype": "float32", "shape": [-1, 2]}},
    "nodes": [{"name": "a", "op": "which_kernel", "inputs": ["x"]},
              {"name": "c", "op": "swiglu", "inputs": ["m"], "attrs": {"hidden": 2}}],
    "outputs": {"y": "a", "z": "c"}})");
  CHECK(names_in(which) == std::vector<std::string>{"graph.tenon", "plugins/composed.so",
                                                    "plugins/more.so", "plugins/which.so"});
}
