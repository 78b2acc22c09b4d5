// Libraries that lie beside a plugin.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "failure_of.hpp"
#include "plugin/folder_of_faults.hpp"

using namespace tenon;

namespace {

void put(const PluginFolder& folder, const std::string& name) {
  folder.write(name, read_bytes(std::filesystem::path(TENON_TEST_FAULTS) / "beside" / name));
}

// Errors first: a library that is loaded once is found by every later plugin of the process.
FailureText load(const PluginFolder& folder) {
  PluginSet set(folder.options(), idle_host());
  set.add_file(folder / "needs_beside.so");
  return failure_of([&] { set.load("needs_beside"); });
}

}  // namespace

TEST_CASE("a library beside a plugin is found by $ORIGIN, and as trusted as the plugin") {
  PluginFolder folder;
  put(folder, "needs_beside.so");
  const auto missing = load(folder);
  CHECK(missing.kind == static_cast<int>(FailureKind::plugin));
  CHECK(missing.message.find("needs_beside.so needs the library libbeside.so, which was not found: install it, or put it beside") !=
        std::string::npos);

  put(folder, "libbeside.so");
  REQUIRE(chmod((folder / "libbeside.so").c_str(), 0757) == 0);
  const auto open = load(folder);
  CHECK(open.kind == static_cast<int>(FailureKind::plugin));
  CHECK(open.message == "operator 'needs_beside' cannot be used: " + (folder / "needs_beside.so").string() + " needs the library " +
                            (folder / "libbeside.so").string() + ", which is not trusted: everybody may write to the file " +
                            (folder / "libbeside.so").string());

  REQUIRE(chmod((folder / "libbeside.so").c_str(), 0755) == 0);
  put(folder, "libbelow.so");
  REQUIRE(chmod((folder / "libbelow.so").c_str(), 0757) == 0);
  CHECK(load(folder).message.find("needs the library " + (folder / "libbelow.so").string() + ", which is not trusted") !=
        std::string::npos);
  folder.write("libbelow.so", "no library");
  CHECK(load(folder).message.find("needs the library " + (folder / "libbelow.so").string() + ", which is ") != std::string::npos);

  put(folder, "libbelow.so");
  CHECK(load(folder).message == "");
}
