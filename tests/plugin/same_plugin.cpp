// Plugins with several paths.
#include <doctest/doctest.h>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "plugin/folder_of_faults.hpp"

namespace fs = std::filesystem;
using namespace tenon;

namespace {

std::string built(const std::string& name) {
  return read_bytes(fs::path(TENON_TEST_FAULTS) / "libraries" / name);
}

/// Returns the full names of the available operators `counts`.
std::vector<std::string> counts_in(const PluginSet& set) {
  std::vector<std::string> names;
  for (const auto& op : set.catalog().operators())
    if (op.info.name == "counts") names.push_back(op.full_name());
  return names;
}

}  // namespace

TEST_CASE("same plugin: several names in a folder are one plugin with the shortest name") {
  struct Case {
    const char* what;
    void (*add)(const fs::path& file, const fs::path& other);
  };
  for (const auto& each :
       {Case{"link", [](const fs::path&file,
                        const fs::path&other) { fs::create_symlink(file.filename(), other); }},
        {"hard link",
         [](const fs::path&file, const fs::path&other) { fs::create_hard_link(file, other); }},
        {"copy", [](const fs::path&file, const fs::path&other) { fs::copy_file(file, other); }}}) {
    CAPTURE(each.what);
    const PluginFolder folder;
    const auto file = folder.write("counts-1.2.so", built("version1/counts.so"));
    each.add(file, folder / "counts.so");
    PluginSet set(folder.options(), idle_host());
    set.scan(folder.plugins());
    CHECK(counts_in(set) == std::vector<std::string>{"counts.counts"});
    for (const char* name : {"counts", "counts.counts", "counts_1_2.counts"}) {
      CAPTURE(name);
      CHECK(failure_of([&] { set.load(name); }).message == "");
    }
    const auto used = file_of(set, "counts.so");
    CHECK(used.also_at == std::vector<fs::path>{file});
    for (const std::string name :
         {"counts", "counts.so", "counts-1.2", "counts-1.2.so", file.c_str()})
      CHECK(is_called(used, name));
    CHECK(is_at(used, file));
    CHECK_FALSE(is_at(used, folder / "other.so"));

    set.scan(folder.plugins());  // nothing has changed
    CHECK(set.catalog().files().size() == 1);
    set.add_file(file);
    CHECK(counts_in(set) == std::vector<std::string>{"counts.counts"});
  }
}

TEST_CASE("same plugin: a folder reached by another path") {
  const PluginFolder folder;
  folder.write("counts.so", built("version1/counts.so"));
  const auto linked = folder.plugins().parent_path() / "linked",
             links = folder.plugins().parent_path() / "links";
  fs::create_directory_symlink(folder.plugins(), linked);
  fs::create_directory(links);
  fs::create_symlink(folder / "counts.so", links / "rope.so");
  fs::create_hard_link(folder / "counts.so", links / "hard.so");
  PluginSet set(folder.options(), idle_host());
  set.add_file(links / "hard.so");
  for (const auto& place : {folder.plugins(), linked, links}) set.scan(place);
  set.scan_defaults({linked, links});
  CHECK(counts_in(set) == std::vector<std::string>{"hard.counts"});
}

TEST_CASE(
    "same plugin: a link to another version is another plugin; the old version keeps its own "
    "name") {
  const PluginFolder folder;
  folder.write("counts-1.so", built("version1/counts.so"));
  folder.write("counts-2.so", built("version2/counts.so"));
  fs::create_symlink("counts-1.so", folder / "counts.so");
  PluginSet set(folder.options(), idle_host());
  set.scan(folder.plugins());
  CHECK(counts_in(set) == std::vector<std::string>{"counts.counts", "counts_2.counts"});
  const auto hint = set.catalog().next_step("counts");
  check_says(hint, {"without op.space() use their file name as namespace", "set op.space()"});
  std::string notes;
  for (const auto& note : set.catalog().notes()) notes += note;
  CHECK(notes.find("plugins without op.space() use their file name as namespace") !=
        std::string::npos);

  fs::remove(folder / "counts.so");
  fs::create_symlink("counts-2.so", folder / "counts.so");
  set.scan(folder.plugins());
  CHECK(counts_in(set) == std::vector<std::string>{"counts.counts", "counts_1.counts"});
}

TEST_CASE(
    "same plugin: copies in different folders are two plugins if their libraries may differ") {
  const PluginFolder one, other;
  for (const auto* folder : {&one, &other}) {
    folder->write("libcounter.so", built("shared/libcounter.so"));
  }
  one.write("one.so", built("shared/one.so"));
  other.write("other.so", built("shared/one.so"));
  PluginSet set(one.options(), idle_host());
  set.scan(one.plugins());
  set.scan(other.plugins());
  CHECK(counts_in(set) == std::vector<std::string>{"one.counts", "other.counts"});
}

TEST_CASE("default folders: unreadable entries are skipped and reported") {
  const PluginFolder folder;
  const auto file = folder.write("plugin.bin", built("version1/counts.so"));
  PluginSet set(folder.options(), idle_host());
  set.scan_defaults({folder / "typo", folder / "plugin.bin" / "below", file, folder.plugins()});
  CHECK(counts_in(set) == std::vector<std::string>{"plugin.counts"});
  const auto catalog = set.catalog();
  REQUIRE(catalog.not_searched().size() == 2);
  CHECK(catalog.not_searched()[0] ==
        "plugin folder '" + (folder / "typo").string() +
            "' cannot be read: there is no such folder (TENON_PLUGIN_PATH)");
  CHECK(catalog.not_searched_text().starts_with("; plugin folder '"));
  CHECK(failure_of([&] {
          set.load("nothing");
        }).message.find("; plugin folder '" + (folder / "typo").string()) != std::string::npos);
}
