// Reading folders into catalogs: every file gets a status and a reason, and none of it is run.
#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>
#include <functional>

#include "failure_of.hpp"
#include "plugin/folder_of_faults.hpp"

using namespace tenon;

// Only the host creates non-empty catalogs.
static_assert(!std::is_constructible_v<Catalog, std::shared_ptr<const CatalogIndex>,
                                       std::shared_ptr<const std::vector<PluginFile>>>);

namespace {

std::string with_byte(const std::string& bytes, std::size_t at, char value) {
  return bytes.substr(0, at) + value + bytes.substr(at + 1);
}

std::string replaced(std::string bytes, std::string_view from, std::string_view to) {
  const auto at = bytes.find(from);
  REQUIRE(at != std::string::npos);
  return bytes.replace(at, from.size(), to);
}

std::string replaced_all(std::string bytes, std::string_view from, std::string_view to) {
  for (auto at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at))
    bytes.replace(at, from.size(), to);
  return bytes;
}

/// Copies a fault's file with its dynamic symbol `name` changed. Trusts the section table, because
/// the file comes from our own linker.
std::string with_symbol(const char* fault, const std::string& name,
                        const std::function<void(Elf64_Sym&)>& change) {
  std::string bytes =
      read_bytes(std::filesystem::path(TENON_TEST_FAULTS) / (std::string(fault) + ".so"));
  const auto get = [&]<class T>(std::size_t at, T) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  const auto header = get(0, Elf64_Ehdr());
  const auto section = [&](std::size_t i) {
    return get(header.e_shoff + i * sizeof(Elf64_Shdr), Elf64_Shdr());
  };
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    if (section(i).sh_type != SHT_DYNSYM) continue;
    const auto strings = section(section(i).sh_link).sh_offset;
    for (std::size_t at = section(i).sh_offset; at < section(i).sh_offset + section(i).sh_size;
         at += sizeof(Elf64_Sym)) {
      auto symbol = get(at, Elf64_Sym());
      if (name != bytes.c_str() + strings + symbol.st_name) continue;
      change(symbol);
      std::memcpy(bytes.data() + at, &symbol, sizeof symbol);
      return bytes;
    }
  }
  throw std::runtime_error("no symbol " + name);
}

}  // namespace

TEST_CASE("discovery: a valid plugin is indexed") {
  PluginFolder folder;
  folder.put("plain");
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  const PluginFile& file = file_of(set, "plain.so");
  CHECK(file.status == PluginStatus::indexed);
  CHECK(file.reason == "");
  CHECK(file.name == "plain");
  CHECK(file.version == "1.2");
  CHECK(file.compiler == "a C compiler");
  CHECK(file.sdk_version == 102);
  CHECK(file.operators == std::vector<std::string>{"plain"});
  const auto op = set.catalog().find("plain");
  REQUIRE(op);
  CHECK(op->file == 0);
  CHECK(op->info.inputs[0].name == "x");
  CHECK(op->devices == std::vector<std::string>{"cpu"});
  CHECK(set.catalog().searched() == std::vector<std::filesystem::path>{folder.plugins()});
}

TEST_CASE("discovery: each broken file gets its status and reason") {
  const std::string good = plain();
  struct Case {
    const char* fault;  // name in tests/faults, or empty for the bytes
    std::string bytes;
    PluginStatus status;
    std::string reason;
  };
  const Case cases[] = {
      {"", "", PluginStatus::not_a_plugin, "is empty"},
      {"", "#!/bin/sh\n", PluginStatus::not_a_plugin, "is not a shared object"},
      {"", std::string(100, '\0'), PluginStatus::not_a_plugin, "is not a shared object"},
      {"", good.substr(0, 40), PluginStatus::not_a_plugin, "is truncated: it has 40 bytes"},
      {"", good.substr(0, good.size() / 2), PluginStatus::not_a_plugin,
       "is truncated or broken: it has "},
      {"", good.substr(0, good.size() - 1), PluginStatus::not_a_plugin,
       "is truncated or broken: it has "},
      {"", with_byte(good, 4, 1), PluginStatus::wrong_machine,
       "is built for x86-64, 32 bits; this machine is x86-64"},
      {"", with_byte(good, 5, 2), PluginStatus::wrong_machine,
       "is built for a machine of the other byte order"},
      {"", with_byte(with_byte(good, 18, char(0xb7)), 19, 0), PluginStatus::wrong_machine,
       "is built for aarch64; this machine is"},
      {"", with_byte(good, 16, 1), PluginStatus::not_a_plugin,
       "is an object file, not a shared object: link it with -shared"},
      {"", with_byte(good, 16, 2), PluginStatus::not_a_plugin, "is a program, not a shared object"},
      {"", replaced(good, "\x65tenon\x01", "\x65tenon\x03"), PluginStatus::broken_manifest,
       "has a broken manifest of operator 'plain': tenon is 3"},
      {"", replaced(good, "float32", "float23"), PluginStatus::broken_manifest,
       "has a broken manifest of operator 'plain': types[0] is 'float23'"},
      {"", replaced(good, "a C compiler", "a \x1b compiler"), PluginStatus::broken_manifest,
       "has a broken tenon_plugin_v1: its compiler"},
      {"",
       with_symbol("plain", "tenon_op_v1__plain",
                   [](Elf64_Sym& symbol) { symbol.st_size = 50000; }),
       PluginStatus::broken_manifest,
       "has a broken symbol: tenon_op_v1__plain lies outside the file"},
      {"",
       with_symbol("plain", "tenon_op_v1__plain",
                   [](Elf64_Sym& symbol) { symbol.st_size = ~0ULL; }),
       PluginStatus::broken_manifest,
       "has a broken symbol: tenon_op_v1__plain has 18446744073709551615 bytes but needs 1 to "
       "65536"},
      {"",
       with_symbol("plain", "tenon_op_v1__plain",
                   [](Elf64_Sym& symbol) { symbol.st_value = ~0ULL; }),
       PluginStatus::broken_manifest,
       "has a broken symbol: tenon_op_v1__plain lies outside the file"},
      {"", with_symbol("plain", "tenon_plugin_v1", [](Elf64_Sym& symbol) { symbol.st_size = 8; }),
       PluginStatus::broken_manifest, "has a broken tenon_plugin_v1: it has 8 bytes"},
      {"",
       with_symbol("data_getter", "tenon_get_v1__data_getter",
                   [](Elf64_Sym& symbol) { symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC); }),
       PluginStatus::broken_manifest, "has no function tenon_get_v1__data_getter"},
      {"",
       with_symbol("split_kernel", "tenon_kernel_v1__cpu__split",
                   [](Elf64_Sym& symbol) { symbol.st_value = 0; }),
       PluginStatus::broken_manifest,
       "has a symbol tenon_kernel_v1__cpu__split that is not a function"},
      {"no_plugin", "", PluginStatus::not_a_plugin,
       "is a shared object without operators or kernels"},
      {"abi_2", "", PluginStatus::other_abi_major, "is built for ABI 2; this host has ABI 1"},
      {"newer_minor", "", PluginStatus::needs_newer_host,
       "needs ABI 1.99; this host has 1.1: update Tenon"},
      {"wrong_name", "", PluginStatus::broken_manifest,
       "has a broken manifest of operator 'wrong_name': its name is 'plain'"},
      {"no_getter", "", PluginStatus::broken_manifest, "has no function tenon_get_v1__no_getter"},
      {"data_getter", "", PluginStatus::broken_manifest,
       "has no function tenon_get_v1__data_getter"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.reason);
    PluginFolder folder;
    const auto path = *c.fault ? folder.put(c.fault, "it.so") : folder.write("it.so", c.bytes);
    PluginSet set(folder.options(), idle_host());
    set.scan(folder.plugins());
    const PluginFile& file = file_of(set, "it.so");
    CHECK(name_of(file.status) == name_of(c.status));
    CHECK_MESSAGE(file.reason.find(c.reason) == 0, file.reason);
    CHECK(set.catalog().operators().empty());
  }
}

TEST_CASE("discovery: entries that are not files do not stop the scan") {
  PluginFolder folder;
  std::filesystem::create_directory(folder / "folder.so");
  std::filesystem::create_symlink("nowhere", folder / "link.so");
  REQUIRE(mkfifo((folder / "pipe.so").c_str(), 0600) == 0);
  folder.put("plain");
  folder.put("plain", ".hidden.so");
  folder.write("notes.txt", "not looked at");
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  CHECK(set.catalog().files().size() == 4);
  CHECK(file_of(set, "folder.so").reason == "is a folder, not a shared object");
  CHECK(file_of(set, "link.so").reason == "cannot be read: No such file or directory");
  CHECK(file_of(set, "pipe.so").reason == "is a pipe, not a shared object");
  CHECK(file_of(set, "plain.so").usable());
}

TEST_CASE("discovery: reports a missing folder") {
  PluginFolder folder;
  PluginSet set(folder.options(), idle_host());
  const FailureText failure = failure_of([&] { set.scan(folder / "none"); });
  CHECK(failure.kind == 4);
  CHECK(failure.message == "plugin folder '" + (folder / "none").string() +
                               "' cannot be read: there is no such folder");
}

TEST_CASE(
    "discovery: reads files in sorted order, once each; files added by path may have any name") {
  PluginFolder folder;
  for (const std::string name : {"c.so", "a.so", "b.so"})
    folder.write(name, plain() + std::string(static_cast<std::size_t>(name[0]), ' '));
  const auto odd = folder.put("split_operator", "odd");
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  set.scan(folder.plugins());
  set.add_file(folder / "a.so");
  set.add_file(odd);
  std::vector<std::string> names;
  for (const auto& file : set.catalog().files()) names.push_back(file.path.filename().string());
  CHECK(names == std::vector<std::string>{"a.so", "b.so", "c.so", "odd"});
  CHECK(set.catalog().find("split"));
}

TEST_CASE(
    "discovery: reading many files in parallel gives the same catalog as reading them in "
    "sequence") {
  PluginFolder folder;
  for (int i = 0; i < 200; ++i) {
    const std::string name = "p" + std::to_string(1000 + i);
    folder.write(name + ".so", i % 5 == 0 ? "no plugin" : replaced_all(plain(), "plain", name));
  }
  PluginSet at_once(folder.options(), idle_host()), one_by_one(folder.options(), idle_host());
  at_once.scan(folder.plugins());
  for (const auto& file : at_once.catalog().files()) one_by_one.add_file(file.path);
  CHECK(at_once.catalog().operators().size() == 160);
  REQUIRE(at_once.catalog().files().size() == 200);
  REQUIRE(one_by_one.catalog().files().size() == 200);
  for (std::size_t i = 0; i < 200; ++i) {
    const PluginFile left = at_once.catalog().files()[i], right = one_by_one.catalog().files()[i];
    CHECK(left.path == folder / ("p" + std::to_string(1000 + i) + ".so"));
    CHECK(left.status == (i % 5 == 0 ? PluginStatus::not_a_plugin : PluginStatus::indexed));
    CHECK(left.status == right.status);
    CHECK(left.operators == right.operators);
  }
}

TEST_CASE("catalog: explains why an operator is not available") {
  PluginFolder folder;
  folder.put("newer_minor");
  folder.put("plain");
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  FailureText failure = failure_of([&] { set.load("newer_minor"); });
  CHECK(failure.kind == 3);
  CHECK(failure.message ==
        "operator 'newer_minor' cannot be used: " + (folder / "newer_minor.so").string() +
            ", which has operator 'newer_minor', needs ABI 1.99; this host has 1.1: update Tenon");
  failure = failure_of([&] { set.load("plian"); });
  CHECK(failure.kind == 3);
  CHECK(failure.message ==
        "no plugin has the operator 'plian'; searched in " + folder.plugins().string());
  CHECK(failure.hint == "did you mean plain?");
}
