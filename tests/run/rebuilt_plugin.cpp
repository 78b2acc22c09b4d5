// A plugin that is replaced during a process by a build with another version of the library that it
// contains.
#include <doctest/doctest.h>

#include <filesystem>
#include <tenon/host/host.hpp>

#include "built.hpp"
#include "temporary_folder.hpp"

TEST_CASE("a plugin rebuilt with another version of its library uses that version and its state") {
  const TemporaryFolder folder;
  const auto plugin = folder / "p.so";
  tenon::HostOptions options;
  options.threads = 1;
  options.search_defaults = false;
  options.trust_writable = true;
  options.cache = folder / "cache";
  tenon::Host host(options);
  const auto build = [&](const std::string& version) {
    std::filesystem::copy_file(built("faults/libraries/version" + version + "/counts.so"),
                               folder / "new.so");
    std::filesystem::rename(folder / "new.so", plugin);
    host.add_plugins(plugin);
  };
  const auto count = [&] {
    return host.call("counts", {tenon::Tensor::from({0.0f}, {1})}).values<float>()[0];
  };
  build("1");
  CHECK(count() == 101 + 1 + 1);
  CHECK(count() == 102 + 1 + 1);
  build("2");
  CHECK(count() == 201 + 2 + 2);
  build("1");  // the same bytes as before are the same code
  CHECK(count() == 103 + 1 + 1);
}
