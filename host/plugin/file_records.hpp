// What became of each plugin file.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <tenon/host/catalog.hpp>
#include <vector>

#include "plugin/loading/plugin_loader.hpp"

namespace tenon {

/// By number. Threads: any.
class FileRecords {
 public:
  /// Under that number: the next one, or one that is there.
  void put(int number, PluginFile file, PluginLoader::Operators operators);
  PluginFile file(int number) const;
  PluginLoader::Operators operators(int number) const;
  /// What came of loading it: status, reason and content hash.
  void came_to(int number, const PluginFile& after);
  /// The file is read again under another number: why it could not be loaded no longer counts.
  void forget_failure(int number);
  void set_hash(int number, std::uint64_t hash);
  void add_path(int number, const std::filesystem::path& path);
  /// Of each file why it is not used, or nothing, for those that were neither refused nor loaded.
  void judge(const std::vector<std::string>& unused);

  /// All as they are now; the same object until something changes.
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
  mutable std::shared_ptr<const std::vector<PluginFile>> all_;  // null: they have changed
};

}  // namespace tenon
