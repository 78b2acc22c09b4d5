// Outcomes of this user's earlier plugin loads, stored as small files in the cache folder:
// `loaded/` lists files that loaded and need not be tried in a child process again, `quarantine/`
// files that crashed or hung. Both are keyed by path and load_key, so a plugin that is rebuilt or
// gets another library is tried again. A missing, read-only or full cache folder only costs a test
// load at every start.
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
  std::string reason;            ///< follows the path
  std::filesystem::path record;  ///< the file with this entry
};

/// Not thread-safe.
class LoadHistory {
 public:
  /// Reads the quarantine. If `folder` is empty, nothing is stored.
  explicit LoadHistory(std::filesystem::path folder);

  bool was_loaded(const std::filesystem::path& plugin, std::uint64_t key) const;
  void remember_loaded(const std::filesystem::path& plugin, std::uint64_t key) const;

  const std::vector<QuarantineEntry>& quarantine() const { return quarantine_; }
  /// Returns the entry for this path and key, or null. The key is computed only if the path has an
  /// entry.
  const QuarantineEntry* find_quarantined(const std::filesystem::path& plugin,
                                          const std::function<std::uint64_t()>& key) const;
  /// Returns false if the entry could not be stored; it then holds only for this process.
  bool add_to_quarantine(const std::filesystem::path& plugin, std::uint64_t key,
                         const std::string& reason);
  /// Releases a file so that it is tried again. Returns the number of entries removed; entries
  /// whose record cannot be removed stay.
  int forget(const std::filesystem::path& plugin);

 private:
  std::filesystem::path record(const char* kind, const std::filesystem::path& plugin,
                               std::uint64_t key) const;

  std::filesystem::path folder_;
  std::vector<QuarantineEntry> quarantine_;
};

}  // namespace tenon
