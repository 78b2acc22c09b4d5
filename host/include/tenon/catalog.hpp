// What was found in the plugin folders, without running any of it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/operator_info.hpp>
#include <utility>
#include <vector>

struct tenon_attribute;  // of <tenon/abi.h>

namespace tenon {

/// Makes an object of an operator of the application from the parameters given: what its table's functions take and destroy() frees.
/// Throws what is wrong with them, as a std::exception. Threads: any, at once.
using OperatorFactory = std::function<void*(const tenon_attribute* attributes, std::uint64_t count)>;

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
  CatalogOperator(std::shared_ptr<const OperatorInfo> of, int from, std::vector<std::string> kernels)
      : description(std::move(of)), info(*description), file(from), devices(std::move(kernels)) {}
  std::shared_ptr<const OperatorInfo> description;  ///< shared with the graphs and calls that use the operator
  const OperatorInfo& info;                         ///< the same
  int file = -1;                                    ///< index into files(); -1: registered by the application, or the host's own
  std::vector<std::string> devices;                 ///< that have a kernel, here or in another plugin: "cpu", "cuda"
};

struct CatalogIndex;

/// The plugin files and operators of a host as they were when it was asked. A cheap handle of an immutable snapshot: references into it
/// stay valid as long as it or a copy lives, whatever is added or loaded meanwhile. What a temporary is asked for it gives away: copies,
/// and a pointer that keeps the operator. Threads: any.
class Catalog {
 public:
  Catalog();                                                                                                 ///< an empty one
  Catalog(std::shared_ptr<const CatalogIndex> index, std::shared_ptr<const std::vector<PluginFile>> files);  ///< for the host's own code

  const std::vector<PluginFile>& files() const& { return *files_; }
  std::vector<PluginFile> files() const&& { return *files_; }
  const std::vector<CatalogOperator>& operators() const&;  ///< sorted by name
  std::vector<CatalogOperator> operators() const&&;
  const std::vector<std::string>& notes() const&;  ///< duplicates that were settled, one sentence each
  std::vector<std::string> notes() const&&;
  const std::vector<std::filesystem::path>& searched() const&;
  std::vector<std::filesystem::path> searched() const&&;
  const CatalogOperator* find(std::string_view name) const&;  ///< by name or alias; null where there is none
  std::shared_ptr<const CatalogOperator> find(std::string_view name) const&&;
  std::vector<std::string> near(std::string_view name) const;  ///< up to three names a slip of the fingers away

  /// Why an operator that some file has is not to be had: the file is refused, or two files disagree. Empty where no file has the name.
  std::string why_missing(std::string_view name) const;
  std::string next_step(std::string_view name) const;  ///< what can be done about it; empty where nothing is known

 private:
  const PluginFile* refused_file(std::string_view op) const;
  std::shared_ptr<const CatalogIndex> index_;  // never null
  std::shared_ptr<const std::vector<PluginFile>> files_;
};

/// Up to three of `names` within a typing slip of `name`, nearest first.
std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& names);

}  // namespace tenon
