// What the plugin folders contain, found without running any of it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host/api.hpp>
#include <tenon/host/operator_info.hpp>
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
  not_loadable,  ///< the system's loader fails for another reason, such as a missing library
  crashed,
  hung,
  quarantined,
  untrusted,
  unlisted,  ///< with HostOptions::trusted_only: neither on the list of trusted plugins nor signed by a key on it
};
TENON_API std::string_view name_of(PluginStatus status);  ///< for people: `crashed while loading`

/// A kernel of a plugin, for an operator of its own or of another plugin. op: `rope`, or `acme__rope` for acme.rope.
struct KernelInfo {
  std::string op, device;
  std::string variant{};  ///< the class of one that is beside others (TENON_KERNEL_VARIANT); empty: the one kernel
};

/// One file of a plugin folder, and whether it can be used.
struct PluginFile {
  std::filesystem::path path;
  std::vector<std::filesystem::path> also_at{};  ///< other paths of it: links to it, and copies with other names
  PluginStatus status = PluginStatus::indexed;
  std::string reason;  ///< why not, to follow the path in a sentence: "is built for ..."; empty if the file is usable
  std::string name, version, compiler;
  std::uint32_t abi_minor = 0, sdk_version = 0, cuda_version = 0;
  std::uint64_t content_hash = 0;      ///< XXH3 of the whole file; 0 until it is loaded
  std::vector<std::string> operators;  ///< names; of refused files too, as far as their symbols show
  std::vector<KernelInfo> kernels;
  bool usable() const { return status == PluginStatus::loaded || status == PluginStatus::indexed; }
};
/// Whether it is the file at that path, or one that it stands for.
TENON_API bool is_at(const PluginFile& file, const std::filesystem::path& path);
/// By its name, the file's name with or without `.so`, or a path of it.
TENON_API bool is_called(const PluginFile& file, const std::string& word);
TENON_API std::string next_step(const PluginFile& file);  ///< how to make an unusable file usable, as a hint

struct CatalogOperator {
  CatalogOperator(std::shared_ptr<const OperatorInfo> of, int from, std::vector<std::string> kernels)
      : description(std::move(of)), info(*description), file(from), devices(std::move(kernels)) {}
  std::shared_ptr<const OperatorInfo> description;  ///< shared with the graphs and calls that use the operator
  const OperatorInfo& info;                         ///< the same
  int file = -1;                                    ///< index into files(); -1: registered by the application, or the host's own
  std::vector<std::string> devices;                 ///< those for which any plugin has a kernel: "cpu", "cuda"
  std::vector<int> kernel_files{};                  ///< of devices: whose kernel each is; -1: the application's, or the host's own
  struct Variant {
    std::string name, device;
    int file;
  };
  std::vector<Variant> variants{};  ///< kernels beside those, which are chosen by types and priority
  std::string full_name() const { return info.full_name(); }
  /// Whether its space is the name of its plugin's file, because its source states none.
  bool has_file_space() const { return file >= 0 && !info.own_space && info.space != "tenon"; }
};

/// An operator that says which operator of ONNX it computes, and the form that says so.
struct OnnxClaim {
  const CatalogOperator* op;
  const OnnxForm* form;
};

struct CatalogIndex;
class PluginSet;

/// The plugin files and operators of a host at the time of the question: a cheap handle of an immutable snapshot. References into it stay
/// valid as long as it or a copy of it lives, whatever is added or loaded meanwhile. A temporary returns copies, and a pointer that keeps
/// the operator alive. Threads: any.
class TENON_API Catalog {
 public:
  Catalog();  ///< an empty one

  const std::vector<PluginFile>& files() const& { return *files_; }
  std::vector<PluginFile> files() const&& { return *files_; }
  const std::vector<CatalogOperator>& operators() const&;  ///< sorted by name, then space
  std::vector<CatalogOperator> operators() const&&;
  /// A sentence for each duplicate and which of the files is used, and those of not_searched().
  const std::vector<std::string>& notes() const&;
  std::vector<std::string> notes() const&&;
  const std::vector<std::filesystem::path>& searched() const&;
  std::vector<std::filesystem::path> searched() const&&;
  /// A sentence for each folder or file that TENON_PLUGIN_PATH names and that cannot be read.
  const std::vector<std::string>& not_searched() const&;
  std::vector<std::string> not_searched() const&&;
  /// The same, to follow what is said of an operator that was not found: "; SENTENCE"; empty if everything was searched.
  std::string not_searched_text() const;
  /// By name or alias, in full (`acme.rope`) or short. Where operators of several spaces have a short name, it stands for that of a
  /// preferred plugin (HostOptions::prefer), or else for the one that comes with Tenon. Null if no operator has it, or several and neither
  /// decides.
  const CatalogOperator* find(std::string_view name) const&;
  std::shared_ptr<const CatalogOperator> find(std::string_view name) const&&;
  /// All operators whose manifest claims this operator of ONNX in this version of its domain ("" and "ai.onnx" are one); none is loaded.
  /// Whether a node's attributes and inputs fit is the form's to say.
  std::vector<OnnxClaim> find_onnx(std::string_view domain, std::string_view type, int version) const&;
  std::vector<OnnxClaim> find_onnx(std::string_view domain, std::string_view type, int version) const&& = delete;  // they point into it
  /// The shortest name that find() takes for the operator: `relu`, or `acme.relu` where relu is another one.
  std::string shortest_name(const CatalogOperator& op) const;
  /// Up to three names within a typing slip; of a short name also those of other spaces.
  std::vector<std::string> near(std::string_view name) const;

  /// Why an operator cannot be used although a file has it: the file is refused, two files disagree, or a short name is that of several.
  /// Empty if no file has the name.
  std::string why_missing(std::string_view name) const;
  std::string next_step(std::string_view name) const;  ///< what to do about it; empty if nothing is known

 private:
  friend class PluginSet;
  Catalog(std::shared_ptr<const CatalogIndex> index, std::shared_ptr<const std::vector<PluginFile>> files);
  std::vector<std::string> near_full_name(std::string_view name) const;
  const PluginFile* refused_file(std::string_view op) const;
  std::string ambiguity(std::string_view name) const;
  std::shared_ptr<const CatalogIndex> index_;  // never null
  std::shared_ptr<const std::vector<PluginFile>> files_;
};

/// Up to three of `names` within a typing slip of `name`, nearest first.
TENON_API std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& names);

/// A hint: "did you mean sum or sub?" of names that are near, or `otherwise` if none is.
inline std::string did_you_mean(const std::vector<std::string>& near, std::string otherwise = {}) {
  if (near.empty()) return otherwise;
  std::string names;
  for (const std::string& name : near) names += (names.empty() ? "" : " or ") + name;
  return "did you mean " + names + "?";
}

}  // namespace tenon
