// The catalog and the operators loaded from it.
#pragma once
#include <tenon/abi.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <tenon/catalog.hpp>
#include <vector>

namespace tenon {

/// An operator ready to be created. Lives as long as the process: plugins are never unloaded.
struct LoadedOperator {
  const OperatorInfo* info = nullptr;
  int file = -1;                          ///< index into Catalog::files(); -1: the application's own
  const tenon_operator* table = nullptr;  ///< create, infer, gradient ...
  const tenon_operator* cpu = nullptr;    ///< forward ... on the CPU: table itself, or a TENON_KERNEL's; null where there is none
  const tenon_operator* cuda = nullptr;
};

struct PluginOptions {
  std::filesystem::path cache;  ///< quarantine and first-load records; empty: the user's cache folder (XDG_CACHE_HOME, HOME)
  bool trust_writable = false;
  bool probe = true;  ///< first load of an unknown file happens in a child process
  int probe_timeout_ms = 10000;
};

/// Threads: scan and add from one thread; load from any.
class PluginSet {
 public:
  explicit PluginSet(PluginOptions options, const tenon_host& host);
  ~PluginSet();

  /// Reads every file of the folder (sorted) into the catalog. A missing folder is a Failure (file) that names it.
  void scan(const std::filesystem::path& folder);
  /// One file by its path.
  void add_file(const std::filesystem::path& file);
  /// An operator of the application itself; replaces nothing: a name that exists already is a Failure (usage).
  void add(std::span<const std::byte> manifest, const tenon_operator* table);

  const Catalog& catalog() const;

  /// By name or alias; loads the plugin at first use. Throws Failure (plugin) where it is unknown (near names, folders searched) or its
  /// file cannot be loaded (status and sentence also go into the catalog).
  const LoadedOperator& load(std::string_view op);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
