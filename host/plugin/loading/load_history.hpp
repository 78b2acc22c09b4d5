// What this user's earlier loads of plugins came to, kept as small files in the cache folder: `loaded/` says that a file was loaded and
// need not be tried in a child process again, `quarantine/` that it crashed or hung. Both are by path and key (load_key): a plugin that is
// built anew, or gets another library, is tried again. A cache folder that is missing, read-only or full costs a try at every start,
// nothing else.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tenon {

struct QuarantineEntry {
  std::filesystem::path plugin;
  std::uint64_t key = 0;
  std::string reason;            ///< reads on after the path
  std::filesystem::path record;  ///< the file that says so
};

/// Threads: one.
class LoadHistory {
 public:
  /// Reads the quarantine. `folder` may be empty: nothing is remembered then.
  explicit LoadHistory(std::filesystem::path folder);

  bool was_loaded(const std::filesystem::path& plugin, std::uint64_t key) const;
  void remember_loaded(const std::filesystem::path& plugin, std::uint64_t key) const;

  const std::vector<QuarantineEntry>& quarantine() const { return quarantine_; }
  /// The entry for this path and key, null if there is none. The key is computed only if the path has one.
  const QuarantineEntry* find_quarantined(const std::filesystem::path& plugin, const std::function<std::uint64_t()>& key) const;
  /// False where it could not be written down: it holds for this process only then.
  bool add_to_quarantine(const std::filesystem::path& plugin, std::uint64_t key, const std::string& reason);
  /// Lets a file be tried again. Returns how many entries for it are gone; those whose record cannot be removed stay.
  int forget(const std::filesystem::path& plugin);

 private:
  std::filesystem::path record(const char* kind, const std::filesystem::path& plugin, std::uint64_t key) const;

  std::filesystem::path folder_;
  std::vector<QuarantineEntry> quarantine_;
};

}  // namespace tenon
