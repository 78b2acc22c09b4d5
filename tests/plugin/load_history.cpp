// The record of earlier loads, which nothing depends on.
#include "plugin/loading/load_history.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>
#include <tenon/host/trust.hpp>

#include "plugin/library_location.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

TEST_CASE("load history: loads and quarantine are recorded by path and content") {
  TemporaryFolder folder;
  const auto cache = folder / "below/cache";
  {
    LoadHistory history(cache);
    CHECK_FALSE(history.was_loaded("/p/a.so", 1));
    history.remember_loaded("/p/a.so", 1);
    CHECK(history.add_to_quarantine("/p/b.so", 2, "crashed with SIGSEGV"));
    CHECK(history.add_to_quarantine("/p/two\nlines.so", 3, "hung"));
  }
  LoadHistory history(cache);
  CHECK(history.was_loaded("/p/a.so", 1));
  CHECK_FALSE(history.was_loaded("/p/a.so", 2));
  CHECK_FALSE(history.was_loaded("/p/b.so", 1));
  CHECK(history.quarantine().size() == 2);
  const auto content = [](std::uint64_t hash) { return [hash] { return hash; }; };
  REQUIRE(history.find_quarantined("/p/b.so", content(2)));
  CHECK(history.find_quarantined("/p/b.so", content(2))->reason == "crashed with SIGSEGV");
  CHECK(history.find_quarantined("/p/x/../b.so", content(2)));
  CHECK_FALSE(history.find_quarantined("/p/b.so", content(9)));  // it was rebuilt
  CHECK(history.find_quarantined("/p/two\nlines.so", content(3)));
  CHECK_FALSE(history.find_quarantined("/p/never.so",
                                       []() -> std::uint64_t { throw "hashed for nothing"; }));

  CHECK(history.forget("/p/b.so") == 1);
  CHECK(history.forget("/p/b.so") == 0);
  CHECK(LoadHistory(cache).quarantine().size() == 1);
  struct stat status {};
  REQUIRE(stat(cache.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK(std::filesystem::is_empty(cache / "quarantine") == false);
}

TEST_CASE("load history: invalid records are ignored") {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "quarantine");
  std::filesystem::create_directory(folder / "quarantine/folder");
  const std::string good = "tenon plugin record 1\n00000000000000ff\nhung\n/p/a.so";
  write_bytes(folder / "quarantine/empty", "");
  write_bytes(folder / "quarantine/cut", good.substr(0, 40));
  write_bytes(folder / "quarantine/other", "tenon plugin record 2\n" + good.substr(22));
  write_bytes(folder / "quarantine/hash", "tenon plugin record 1\nwords\nhung\n/p/a.so");
  write_bytes(folder / "quarantine/escape", "tenon plugin record 1\nff\n\x1b[2J\n/p/a.so");
  write_bytes(folder / "quarantine/long", good + std::string(20000, 'x'));
  CHECK(LoadHistory(folder.path()).quarantine().empty());
  write_bytes(folder / "quarantine/good", good);
  CHECK(LoadHistory(folder.path()).quarantine().size() == 1);
}

TEST_CASE("load history: without a writable folder, quarantine lasts for the process") {
  TemporaryFolder folder;
  write_bytes(folder / "file", "");
  for (const std::filesystem::path& cache :
       {std::filesystem::path(), folder / "file" / "below", std::filesystem::path("/proc/none")}) {
    LoadHistory history(cache);
    history.remember_loaded("/p/a.so", 1);
    CHECK_FALSE(history.was_loaded("/p/a.so", 1));
    CHECK_FALSE(history.add_to_quarantine("/p/a.so", 1, "hung"));
    CHECK(history.find_quarantined("/p/a.so", [] { return std::uint64_t{1}; }));
    CHECK(LoadHistory(cache).quarantine().empty());
  }
}

TEST_CASE("user folders: the cache folder") {
  struct Case {
    const char *xdg, *home, *folder;
  };
  const Case cases[] = {{"/x", "/h", "/x/tenon"},
                        {nullptr, "/h", "/h/.cache/tenon"},
                        {"relative", "/h", "/h/.cache/tenon"},
                        {"", "", ""},
                        {nullptr, nullptr, ""}};
  const auto set = [](const char* name, const char* value) {
    value ? setenv(name, value, 1) : unsetenv(name);
  };
  const auto get = [](const char* name) {
    return std::string(std::getenv(name) ? std::getenv(name) : "");
  };
  const std::string xdg = get("XDG_CACHE_HOME"), home = get("HOME");
  for (const Case& c : cases) {
    set("XDG_CACHE_HOME", c.xdg);
    set("HOME", c.home);
    CHECK(user_cache_folder().string() == c.folder);
  }
  set("XDG_CACHE_HOME", xdg.empty() ? nullptr : xdg.c_str());
  set("HOME", home.empty() ? nullptr : home.c_str());
}

TEST_CASE("quarantine: applications list and release quarantined plugins") {
  const TemporaryFolder folder, other;
  const auto cache = folder / "cache";
  const auto here = folder / "here.so", gone = folder / "gone.so", apart = other / "apart.so";
  write_bytes(here, "built anew");
  {
    LoadHistory history(cache);
    for (const auto& path : {here, gone, apart}) CHECK(history.add_to_quarantine(path, 1, "hung"));
  }
  using File = QuarantinedPlugin::File;
  std::map<std::filesystem::path, File> files;
  for (const auto& plugin : quarantined_plugins(cache)) {
    files[plugin.path] = plugin.file;
    CHECK(plugin.reason == "hung");
  }
  CHECK(files == std::map<std::filesystem::path, File>{
                     {here, File::changed}, {gone, File::missing}, {apart, File::missing}});
  CHECK(release_plugins(folder / "no.so", cache).empty());
  // releases the folder, however its path is written
  CHECK(release_plugins(folder.path() / "", cache).size() == 2);
  REQUIRE(quarantined_plugins(cache).size() == 1);
  CHECK(quarantined_plugins(cache)[0].path == apart);
  CHECK(release_plugins(apart, cache).size() == 1);
  CHECK(quarantined_plugins(cache).empty());
}
