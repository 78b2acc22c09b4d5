// Loads a file of the catalog into this process: copy, check again, try in a child process, load.
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

/// admit() and has_other_libraries() are thread-safe; open() is not.
class PluginLoader {
 public:
  using Operators = std::vector<std::shared_ptr<const OperatorInfo>>;
  explicit PluginLoader(const PluginOptions& options);

  /// Checks whether the file may be used at all, before any of it is loaded. Throws PluginError:
  /// untrusted or quarantined.
  void admit(const std::filesystem::path& path, const InputFile& file);

  /// Returns the plugin's code, loaded on the first call. `file` has that number and must be
  /// usable; its status is set to the outcome. `expected` lists the operators that the catalog
  /// expects in it. Throws PluginError.
  Library& open(int number, PluginFile& file, const Operators& expected);
  /// Same for a plugin whose code runs in a worker process: nothing of it is loaded in this
  /// process.
  IsolatedPlugin& open_isolated(int number, PluginFile& file, const Operators& expected);
  bool isolates(const PluginFile& file) const;
  /// Returns whether the libraries of the plugin last loaded from the path have changed or been
  /// replaced.
  bool has_other_libraries(const std::filesystem::path& path);

 private:
  /// Checks whether this content may be used from that path. Throws PluginError (unlisted).
  void admit_content(const std::filesystem::path& path, const InputFile& content);
  void admit_path(const std::filesystem::path& path, const InputFile& file);
  std::unique_ptr<PrivateCopy> copy(const PluginFile& file, const Operators& expected);
  /// Runs `work` with the copy and sets the file's status to the outcome. Throws if the file is not
  /// usable.
  template <class Work>
  void try_to(PluginFile& file, const Operators& expected, Work work);
  Library load(const PluginFile& file, PrivateCopy& copy);
  std::shared_ptr<IsolatedPlugin> start_worker(const PluginFile& file, PrivateCopy& copy);

  using Libraries = std::vector<NeededLibrary>;
  using Sealed = std::vector<std::unique_ptr<PrivateCopy>>;
  /// Returns the plugin's libraries. Those bundled with it must not be writable by others either.
  /// Throws PluginError (untrusted, unlisted).
  Libraries admit_libraries(const PluginFile& file, const PrivateCopy& copy);
  /// How a plugin is loaded. `separate_libraries`: in this process, but with libraries that the
  /// loader would otherwise confuse with other plugins' ones.
  enum class LoadTarget { this_process, separate_libraries, worker };
  /// Returns whether the library is loaded from a copy.
  bool is_copied(const NeededLibrary& library, LoadTarget target,
                 const std::filesystem::path& folder) const;
  /// Seals the copy, changed so that the loader finds the same libraries as for the file, and makes
  /// the required copies of libraries. Throws PluginError (unlisted).
  Sealed seal(const PluginFile& file, PrivateCopy& copy, const Libraries& libraries,
              LoadTarget target);
  static CopyChanges changes_of(const Libraries& libraries, std::size_t object,
                                const std::filesystem::path& folder,
                                const std::map<std::size_t, std::string>& copies,
                                LoadTarget target);
  void try_in_child(const PluginFile& file, const PrivateCopy& copy, std::uint64_t key);
  void quarantine(const PluginFile& file, std::uint64_t key, const std::string& reason);

  PluginOptions options_;
  // guards trust_, lists_, history_ and libraries_of_: files are admitted while others are loaded
  std::mutex admitting_;
  Trust trust_;
  std::optional<TrustLists> lists_;  // set if only listed plugins may be loaded
  LoadHistory history_;
  // load_key without the content, by the plugin's path
  std::map<std::filesystem::path, std::uint64_t> libraries_of_;
  // by the file's number, because a path may have several over time
  std::map<int, Library> libraries_;
  std::map<int, std::shared_ptr<IsolatedPlugin>> isolated_;
};

}  // namespace tenon
