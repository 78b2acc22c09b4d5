// Detects paths that lead to the same plugin.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <tenon/host/operator_info.hpp>
#include <vector>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// A valid file, as it was when read.
struct KnownPlugin {
  const std::filesystem::path& path;
  const FileStamp& stamp;
  const std::vector<std::shared_ptr<const OperatorInfo>>& operators;
};

/// Compares files; reads each file at most once. Not thread-safe.
class SamePlugins {
 public:
  /// Returns true for one file under two paths, or for two files with the same bytes and different
  /// names, which would otherwise put the same operators into two namespaces. Files in different
  /// folders are the same only if the plugin bundles no libraries, which may differ.
  bool are_same(const KnownPlugin& one, const KnownPlugin& other);

 private:
  bool have_same_content(const KnownPlugin& one, const KnownPlugin& other);
  std::uint64_t hash_of(const std::filesystem::path& path);

  std::map<std::filesystem::path, std::uint64_t> hashes_;
};

}  // namespace tenon
