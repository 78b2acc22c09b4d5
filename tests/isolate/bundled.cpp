// Isolated plugins with several files: bundled libraries, and kernels in plugins other than
// their operator's.
#include <doctest/doctest.h>

#include <algorithm>

#include "failure_of.hpp"
#include "isolate/isolated_plugin.hpp"
#include "plugin/folder_of_faults.hpp"
#include "plugin/loading/needed_libraries.hpp"

using namespace tenon;

namespace {

std::size_t open_files() {
  return TemporaryFolder::sorted_names("/proc/self/fd").size();
}

PluginOptions isolating(const PluginFolder& folder) {
  auto options = folder.options();
  options.isolation.program = std::filesystem::path(TENON_TEST_BUILD) / "tenon-worker";
  return options;
}

}  // namespace

TEST_CASE(
    "isolate: a restarted worker runs the same libraries as the first one, even if their files "
    "have changed") {
  const PluginFolder folder;
  folder.put("beside/libbeside", "libbeside.so");
  const auto below = folder.put("beside/libbelow", "libbelow.so");
  auto options = isolating(folder);
  options.isolation.all = true;
  const auto files_before = open_files();
  {
    PluginSet set(options, idle_host());
    set.add_file(folder.put("beside/needs_beside", "needs_beside.so"));
    const auto table = set.load("needs_beside").isolated.at(0);
    auto* const object = create_isolated(table, {});
    std::filesystem::remove(below);
    folder.put("beside/otherwise/libbelow", "libbelow.so");
    const auto first = table->plugin().worker();
    first->end("is ended by the test");
    first->end_sentence(0);  // waits
    CHECK(table->plugin().worker() != first);
    table->functions().destroy(create_isolated(table, {}));
    table->functions().destroy(object);

    PluginSet later(options, idle_host());
    later.add_file(folder / "needs_beside.so");
    const auto crash = failure_of([&] { later.load("needs_beside"); });
    CHECK(crash.message.find(" (needs_beside.so); backtrace: libbelow.so+0x") != std::string::npos);
    CHECK(crash.message.find(", libbeside.so+0x") != std::string::npos);
  }
  CHECK(open_files() == files_before);
}

TEST_CASE(
    "isolate: a worker's loader may read valid libraries in absolute run paths, and no other file "
    "there") {
  const PluginFolder folder;
  auto options = isolating(folder);
  options.isolation.all = true;
  options.trust_writable = true;
  const auto load = [&](const std::filesystem::path& plugin) {
    PluginSet set(options, idle_host());
    set.add_file(plugin);
    return set.load("needs_beside").isolated.size();
  };
  CHECK(load(folder.put("needs_elsewhere")) == 1);

  const auto libraries = std::filesystem::path(TENON_TEST_FAULTS) / "beside";
  const TemporaryFolder place;
  auto bytes = read_bytes(folder / "needs_elsewhere.so");
  const auto run_path = (place / "").string();
  const auto at = bytes.find(libraries.string());
  REQUIRE(at != std::string::npos);
  REQUIRE(run_path.size() < libraries.string().size());
  bytes.replace(at, libraries.string().size(),
                run_path + std::string(libraries.string().size() - run_path.size(), '/'));
  const auto moved = folder.write("moved.so", bytes);
  const auto found = [&] {
    const auto all = find_needed_libraries(InputFile(moved), folder.plugins());
    return std::count_if(all.begin(), all.end(), [](const auto& library) {
      return library.found == NeededLibrary::Found::by_path;
    });
  };
  write_bytes(place / "libbeside.so", "a secret");
  CHECK(found() == 0);
  for (const std::string name : {"libbeside.so", "libbelow.so"}) {
    std::filesystem::copy_file(libraries / name, place / name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  CHECK(found() == 2);
  CHECK(load(moved) == 1);
}

TEST_CASE(
    "isolate: an operator runs in the process in which its kernel is isolated, wherever its other "
    "parts run") {
  const PluginFolder folder;
  folder.put("split_operator");
  folder.put("split_kernel");
  const auto runs_in = [&](const std::vector<std::string>& isolated) {
    auto options = isolating(folder);
    options.isolation.plugins = isolated;
    PluginSet set(options, idle_host());
    set.scan(folder.plugins());
    const auto* plugin = set.load("split").isolated_plugin();
    return plugin == nullptr ? "here" : plugin->name();
  };
  CHECK(runs_in({}) == "here");
  CHECK(runs_in({"split_operator"}) == "here");
  CHECK(runs_in({"split_kernel"}) == "split_kernel.so");
  CHECK(runs_in({"split_operator", "split_kernel"}) == "split_kernel.so");
}
