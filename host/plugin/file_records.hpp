// The state of each plugin file.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <tenon/host/catalog.hpp>
#include <vector>

#include "plugin/loading/plugin_loader.hpp"

namespace tenon {

/// Records of files by number. Thread-safe.
class FileRecords {
 public:
  /// Stores a record under an existing number or the next one.
  void put(int number, PluginFile file, PluginLoader::Operators operators);
  PluginFile file(int number) const;
  PluginLoader::Operators operators(int number) const;
  /// Updates a file's status, reason and content hash after a load.
  void set_outcome(int number, const PluginFile& after);
  /// Clears a load failure, because the file was read again under another number.
  void forget_failure(int number);
  void set_hash(int number, std::uint64_t hash);
  void add_path(int number, const std::filesystem::path& path);
  /// Sets why each file is not used, or clears it, for files that were neither refused nor loaded.
  void set_unused(const std::vector<std::string>& unused);

  /// Returns a snapshot of all files; the same object until something changes.
  std::shared_ptr<const std::vector<PluginFile>> all() const;

 private:
  struct Record {
    PluginFile file;
    PluginLoader::Operators operators;
  };
  Record& at(int number) { return records_[static_cast<std::size_t>(number)]; }
  const Record& at(int number) const { return records_[static_cast<std::size_t>(number)]; }

  mutable std::mutex mutex_;
  std::vector<Record> records_;
  mutable std::shared_ptr<const std::vector<PluginFile>> all_;  // null after a change
};

}  // namespace tenon
