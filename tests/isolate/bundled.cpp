// Libraries that an isolated plugin brings along.
#include <doctest/doctest.h>

#include "failure_of.hpp"
#include "isolate/isolated_plugin.hpp"
#include "plugin/folder_of_faults.hpp"

using namespace tenon;

namespace {

std::size_t open_files() {
  return TemporaryFolder::sorted_names("/proc/self/fd").size();
}

}  // namespace

TEST_CASE("a worker that is started again runs the libraries that the first one ran, whatever became of their files") {
  const PluginFolder folder;
  folder.put("beside/libbeside", "libbeside.so");
  const auto below = folder.put("beside/libbelow", "libbelow.so");
  auto options = folder.options();
  options.isolation.all = true;
  options.isolation.program = std::filesystem::path(TENON_TEST_BUILD) / "tenon-worker";
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
