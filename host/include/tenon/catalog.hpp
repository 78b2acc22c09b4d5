// What the plugin folders contain, found without running any of it.
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
  not_loadable,  ///< the system's loader fails for another reason, such as a missing library
  crashed,
  hung,
  quarantined,
  untrusted,
};
std::string_view name_of(PluginStatus status);  ///< for people: `crashed while loading`

/// A kernel of a plugin, for an operator of its own or of another plugin.
struct KernelInfo {
  std::string op, device;
};

/// One file of a plugin folder, and whether it can be used.
struct PluginFile {
  std::filesystem::path path;
  PluginStatus status = PluginStatus::indexed;
  std::string reason;  ///< why not, to follow the path in a sentence: "is built for ..."; empty if the file is usable
  std::string name, version, compiler;
  std::uint32_t abi_minor = 0, sdk_version = 0, cuda_version = 0;
  std::uint64_t content_hash = 0;      ///< XXH3 of the whole file; 0 until it is loaded
  std::vector<std::string> operators;  ///< names; of refused files too, as far as their symbols show
  std::vector<KernelInfo> kernels;
  bool usable() const { return status == PluginStatus::loaded || status == PluginStatus::indexed; }
};
std::string next_step(const PluginFile& file);  ///< how to make an unusable file usable, as a hint

struct CatalogOperator {
  OperatorInfo info;
  int file = -1;                     ///< index into files(); -1: registered by the application
  std::vector<std::string> devices;  ///< those for which any plugin has a kernel: "cpu", "cuda"
};

/// All operators and files that the host knows. Threads: reading is safe while nothing is added or loaded.
class Catalog {
 public:
  const std::vector<PluginFile>& files() const { return files_; }
  const std::vector<CatalogOperator>& operators() const { return operators_; }  ///< sorted by name
  const std::vector<std::string>& notes() const { return notes_; }  ///< one sentence for each duplicate and which of the files is used
  const std::vector<std::filesystem::path>& searched() const { return searched_; }
  const CatalogOperator* find(std::string_view name) const;    ///< by name or alias; null if there is none
  std::vector<std::string> near(std::string_view name) const;  ///< up to three names within a typing slip

  /// Why an operator cannot be used although a file has it: the file is refused, or two files disagree. Empty if no file has the name.
  std::string why_missing(std::string_view name) const;
  std::string next_step(std::string_view name) const;  ///< what to do about it; empty if nothing is known

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
