// From a file of the catalog to its code in this process: copy, check again, try in a child, load.
#pragma once
#include <tenon/abi.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tenon/host/catalog.hpp>

#include "isolate/isolated_plugin.hpp"
#include "plugin/loading/library.hpp"
#include "plugin/loading/load_history.hpp"
#include "plugin/loading/needed_libraries.hpp"
#include "plugin/loading/private_copy.hpp"
#include "plugin/loading/trust.hpp"
#include "plugin/loading/trust_lists.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Threads: admit() and has_other_libraries() from any, open() from one.
class PluginLoader {
 public:
  using Operators = std::vector<std::shared_ptr<const OperatorInfo>>;
  explicit PluginLoader(const PluginOptions& options);

  /// May this file be used at all? Throws PluginError: untrusted or quarantined. Before anything of it is loaded.
  void admit(const std::filesystem::path& path, const InputFile& file);

  /// The plugin's code, loaded at the first call. `file`, which has that number, must be usable; its status becomes what happens. Throws
  /// PluginError. `expected` says which operators of it the catalog counts on.
  Library& open(int number, PluginFile& file, const Operators& expected);
  /// The same for a plugin whose code runs in a worker process: nothing of it is loaded here.
  IsolatedPlugin& open_isolated(int number, PluginFile& file, const Operators& expected);
  bool isolates(const PluginFile& file) const;
  /// Whether the libraries of the plugin that was last loaded from the path are others now, or have changed.
  bool has_other_libraries(const std::filesystem::path& path);

 private:
  /// May this content be used, from that path? Throws PluginError (unlisted).
  void admit_content(const std::filesystem::path& path, const InputFile& content);
  void admit_place(const std::filesystem::path& path, const InputFile& file);
  std::unique_ptr<PrivateCopy> copy(const PluginFile& file, const Operators& expected);
  /// Throws where the file is of no use, and lets its status tell what comes of `work`, which gets the copy.
  template <class Work>
  void try_to(PluginFile& file, const Operators& expected, Work work);
  Library load(const PluginFile& file, PrivateCopy& copy);
  std::shared_ptr<IsolatedPlugin> start_worker(const PluginFile& file, PrivateCopy& copy);

  using Libraries = std::vector<NeededLibrary>;
  using Sealed = std::vector<std::unique_ptr<PrivateCopy>>;
  /// The plugin's libraries; others may not be able to write to those that it brings along either. Throws PluginError (untrusted,
  /// unlisted).
  Libraries admit_libraries(const PluginFile& file, const PrivateCopy& copy);
  /// Where a plugin is loaded; apart: here, where the loader would take other plugins' libraries for its own.
  enum class Where { here, apart, worker };
  /// Whether it is loaded from a copy.
  bool is_copied(const NeededLibrary& library, Where where, const std::filesystem::path& folder) const;
  /// Seals the copy, changed so that the loader finds the same libraries for it as for the file, and makes copies of those to be copied.
  /// Throws PluginError (unlisted).
  Sealed seal(const PluginFile& file, PrivateCopy& copy, const Libraries& libraries, Where where);
  static CopyChanges changes_of(const Libraries& libraries, std::size_t object, const std::filesystem::path& folder,
                                const std::map<std::size_t, std::string>& copies, Where where);
  void try_in_child(const PluginFile& file, const PrivateCopy& copy, std::uint64_t key);
  void quarantine(const PluginFile& file, std::uint64_t key, const std::string& reason);

  PluginOptions options_;
  std::mutex admitting_;  // trust_, lists_, history_ and libraries_of_: files are admitted while others are loaded
  Trust trust_;
  std::optional<TrustLists> lists_;  // where only what is on them may be loaded
  LoadHistory history_;
  std::map<std::filesystem::path, std::uint64_t> libraries_of_;  // load_key without content, by the plugin's path
  std::map<int, Library> libraries_;                             // by the file's number: a path may have several, one after the other
  std::map<int, std::shared_ptr<IsolatedPlugin>> isolated_;
};

}  // namespace tenon
