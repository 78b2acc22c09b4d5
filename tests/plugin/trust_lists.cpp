// Hosts that load only trusted content, and files that change meanwhile.
#include "plugin/loading/trust_lists.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "failure_of.hpp"
#include "plugin/folder_of_faults.hpp"

using namespace tenon;

namespace {

PluginOptions trusting_lists(const PluginFolder& folder, const std::filesystem::path& config) {
  auto options = folder.options();
  options.trusted_only = true;
  options.config = config;
  return options;
}

}  // namespace

TEST_CASE(
    "trust lists: a trusted file that changes between reading and loading is refused, because the "
    "loaded copy is checked") {
  const PluginFolder folder;
  const TemporaryFolder config;
  const auto path = folder.put("plain");
  trust_plugin(path, config.path());
  PluginSet set(trusting_lists(folder, config.path()), idle_host());
  set.scan(folder.plugins());
  CHECK(file_of(set, "plain.so").status == PluginStatus::indexed);
  folder.write("plain.so", read_bytes(path) + " ");  // its manifest is unchanged
  const auto failure = failure_of([&] { set.load("plain"); });
  CHECK(failure.kind == 3);
  CHECK(failure.message.find("is not on your list of trusted plugins") != std::string::npos);
  CHECK(file_of(set, "plain.so").status == PluginStatus::unlisted);

  trust_plugin(path, config.path());  // the list is read again after a change
  set.scan(folder.plugins());
  CHECK(set.load("plain").info->name == "plain");
}

TEST_CASE("trust lists: an operator of an untrusted file does not replace a trusted one") {
  const PluginFolder trusted, other;
  const TemporaryFolder config;
  trust_plugin(trusted.put("plain"), config.path());
  other.put("plain_otherwise", "plain.so");
  PluginSet set(trusting_lists(trusted, config.path()), idle_host());
  set.scan(trusted.plugins());
  set.scan(other.plugins());
  CHECK(set.catalog().files().at(1).status == PluginStatus::unlisted);
  CHECK(set.load("plain").file == 0);
}

TEST_CASE(
    "trust lists: bundled libraries of a trusted plugin, and their own, must be trusted, too, in "
    "the host and in workers") {
  for (const bool isolate : {false, true}) {
    CAPTURE(isolate);
    const PluginFolder folder;
    const TemporaryFolder config;
    const auto plugin = folder.put("beside/needs_beside", "needs_beside.so"),
               library = folder.put("beside/libbeside", "libbeside.so"),
               below = folder.put("beside/libbelow", "libbelow.so");
    trust_plugin(plugin, config.path());
    const auto load = [&] {
      auto options = trusting_lists(folder, config.path());
      options.isolation.all = isolate;
      options.isolation.program = std::filesystem::path(TENON_TEST_BUILD) / "tenon-worker";
      PluginSet set(options, idle_host());
      set.add_file(plugin);
      return failure_of([&] { set.load(set.catalog().operators().back().info.name); }).message;
    };
    const auto refuses = [&](const std::filesystem::path& path) {
      return load().find("needs the library " + path.string() +
                         ", which is not on your list of trusted plugins") != std::string::npos;
    };
    CHECK(refuses(below));
    trust_plugin(below, config.path());
    CHECK(refuses(library));
    trust_plugin(library, config.path());
    CHECK(load() == "");
    for (const auto& path : {library, below}) {
      const auto bytes = read_bytes(path);
      write_bytes(path, bytes + " ");
      CHECK(refuses(path));
      write_bytes(path, bytes);
    }
    CHECK(load() == "");
  }
}
