// Whether two paths lead to one plugin.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <tenon/host/operator_info.hpp>
#include <vector>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// A sound file, as it was when it was read.
struct KnownPlugin {
  const std::filesystem::path& path;
  const FileStamp& stamp;
  const std::vector<std::shared_ptr<const OperatorInfo>>& operators;
};

/// Compares files; reads each file at most once. Threads: one.
class SamePlugins {
 public:
  /// One file by two paths; or two files with the same bytes and other names, which would otherwise give the same operators two spaces.
  /// In different folders only if the plugin brings no libraries along, which may differ.
  bool are_same(const KnownPlugin& one, const KnownPlugin& other);

 private:
  bool have_same_content(const KnownPlugin& one, const KnownPlugin& other);
  std::uint64_t hash_of(const std::filesystem::path& path);

  std::map<std::filesystem::path, std::uint64_t> hashes_;
};

}  // namespace tenon
