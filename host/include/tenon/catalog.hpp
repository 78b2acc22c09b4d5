// What was found in the plugin folders, without running any of it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tenon/operator_info.hpp>
#include <vector>

namespace tenon {

enum class PluginStatus : std::uint8_t {
  loaded,
  indexed,
  not_a_plugin,
  wrong_machine,
  needs_newer_host,
  other_abi_major,
  broken_manifest,
  duplicate,
  unresolved_symbol,
  not_loadable,  ///< the system's loader refuses it for another reason: a library that it needs is missing
  crashed,
  hung,
  quarantined,
  untrusted,
};
std::string_view name_of(PluginStatus status);  ///< `crashed while loading`, as people read it

/// A kernel that a plugin brings for an operator, its own or another plugin's.
struct KernelInfo {
  std::string op, device;
};

/// One candidate file and how it ended.
struct PluginFile {
  std::filesystem::path path;
  PluginStatus status = PluginStatus::indexed;
  std::string reason;  ///< one plain sentence that reads on after the path ("is built for ..."); empty for loaded and indexed
  std::string name, version, compiler;
  std::uint32_t abi_minor = 0, sdk_version = 0, cuda_version = 0;
  std::uint64_t content_hash = 0;      ///< XXH3 of the whole file; 0 until it is loaded (PluginSet::content_hash knows it always)
  std::vector<std::string> operators;  ///< by name, also of a file that is refused, as far as its symbols tell
  std::vector<KernelInfo> kernels;
  bool usable() const { return status == PluginStatus::loaded || status == PluginStatus::indexed; }
};
std::string next_step(const PluginFile& file);  ///< what can be done about a file that is not usable, as a hint

struct CatalogOperator {
  OperatorInfo info;
  int file = -1;                     ///< index into files(); -1: registered by the application
  std::vector<std::string> devices;  ///< that have a kernel, here or in another plugin: "cpu", "cuda"
};

/// Threads: reading is safe while nothing is added or loaded.
class Catalog {
 public:
  const std::vector<PluginFile>& files() const { return files_; }
  const std::vector<CatalogOperator>& operators() const { return operators_; }  ///< sorted by name
  const std::vector<std::string>& notes() const { return notes_; }              ///< duplicates that were settled, one sentence each
  const std::vector<std::filesystem::path>& searched() const { return searched_; }
  const CatalogOperator* find(std::string_view name) const;    ///< by name or alias; null where there is none
  std::vector<std::string> near(std::string_view name) const;  ///< up to three names a slip of the fingers away

  /// Why an operator that some file has is not to be had: the file is refused, or two files disagree. Empty where no file has the name.
  std::string why_missing(std::string_view name) const;
  std::string next_step(std::string_view name) const;  ///< what can be done about it; empty where nothing is known

 private:
  friend class CatalogBuilder;
  friend class PluginSet;
  const PluginFile* refused_file(std::string_view op) const;
  std::vector<PluginFile> files_;
  std::vector<CatalogOperator> operators_;
  std::vector<std::string> notes_;
  std::vector<std::filesystem::path> searched_;
  std::map<std::string, std::size_t, std::less<>> aliases_;   // to an index into operators_
  std::map<std::string, std::string, std::less<>> disputed_;  // names that no operator has, because several files claim them; a sentence
};

/// Up to three of `names` within a typing slip of `name`, nearest first.
std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& names);

}  // namespace tenon
