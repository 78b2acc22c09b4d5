// A folder with broken and valid plugins of tests/faults, and its own cache folder.
#pragma once
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "plugin/plugin_set.hpp"
#include "temporary_folder.hpp"

/// The host table for plugins in tests, which none of them calls.
inline const tenon_host& idle_host() {
  static const tenon_host host{
      sizeof(tenon_host), TENON_ABI_MAJOR, TENON_ABI_MINOR, nullptr, nullptr, nullptr};
  return host;
}

/// The bytes of a valid plugin.
inline std::string plain() {
  return read_bytes(std::filesystem::path(TENON_TEST_FAULTS) / "plain.so");
}

class PluginFolder {
 public:
  PluginFolder() {
    std::filesystem::create_directory(plugins());
    std::filesystem::permissions(plugins(), std::filesystem::perms(0755));
  }

  std::filesystem::path plugins() const { return folder_ / "plugins"; }
  std::filesystem::path cache() const { return folder_ / "cache"; }
  std::filesystem::path operator/(const std::string& name) const { return plugins() / name; }

  /// Copies faults/FAULT.so to NAME.
  std::filesystem::path put(const std::string& fault, const std::string& name) const {
    return write(name, read_bytes(std::filesystem::path(TENON_TEST_FAULTS) / (fault + ".so")));
  }
  std::filesystem::path put(const std::string& fault) const { return put(fault, fault + ".so"); }
  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    const auto path = plugins() / name;
    write_bytes(path, bytes);
    std::filesystem::permissions(path, std::filesystem::perms(0755));
    return path;
  }

  tenon::PluginOptions options() const {
    tenon::PluginOptions options;
    options.cache = cache();
    options.cuda = [] { return true; };
    options.probe_program = std::filesystem::path(TENON_TEST_BUILD) / "tenon-probe";
    return options;
  }

 private:
  TemporaryFolder folder_;
};

/// Returns the catalog's file of that name; fails if there is none.
inline tenon::PluginFile file_of(const tenon::PluginSet& set, std::string_view name) {
  for (const auto& file : set.catalog().files()) {
    if (file.path.filename() == name) return file;
  }
  throw std::runtime_error("the catalog has no file " + std::string(name));
}
