// The contents of the plugin folders, found without running any plugin.
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

struct tenon_attribute;  // declared in <tenon/abi.h>

namespace tenon {

/// Creates an object of an application's operator from its parameters, for the functions of the
/// operator's table; destroy() frees it. Throws a std::exception if the parameters are invalid.
/// Threads: any, concurrently.
using OperatorFactory =
    std::function<void*(const tenon_attribute* attributes, std::uint64_t count)>;

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
  not_loadable,  ///< the dynamic loader fails for another reason, such as a missing library
  crashed,
  hung,
  quarantined,
  untrusted,
  unlisted,  ///< with HostOptions::trusted_only: neither on the list of trusted plugins nor signed
             ///< by a key on it
};
TENON_API std::string_view name_of(PluginStatus status);  ///< for messages: `crashed while loading`

/// A plugin's kernel, for an operator of its own or of another plugin. op: `rope`, or `acme__rope`
/// for acme.rope.
struct KernelInfo {
  std::string op, device;
  std::string variant{};  ///< the class of an additional kernel (TENON_KERNEL_VARIANT); empty: the
                          ///< main kernel
};

/// One file of a plugin folder, and whether it is usable.
struct PluginFile {
  std::filesystem::path path;
  /// other paths of the same file: links, and copies with other names
  std::vector<std::filesystem::path> also_at{};
  PluginStatus status = PluginStatus::indexed;
  std::string reason;  ///< why it is not usable, to follow the path in a sentence: "is built for
                       ///< ..."; empty if it is
  std::string name, version, compiler;
  std::uint32_t abi_minor = 0, sdk_version = 0, cuda_version = 0;
  std::uint64_t content_hash = 0;  ///< XXH3 of the whole file; 0 until it is loaded
  /// names; for rejected files, too, as far as their symbols show
  std::vector<std::string> operators;
  std::vector<KernelInfo> kernels;
  bool usable() const { return status == PluginStatus::loaded || status == PluginStatus::indexed; }
};
/// Whether `path` is the file's path or one of its other paths.
TENON_API bool is_at(const PluginFile& file, const std::filesystem::path& path);
/// Whether `name` is the plugin's name, the file's name with or without `.so`, or one of its paths.
TENON_API bool is_called(const PluginFile& file, const std::string& name);
TENON_API std::string next_step(
    const PluginFile& file);  ///< a hint how to make an unusable file usable

struct CatalogOperator {
  CatalogOperator(std::shared_ptr<const OperatorInfo> operator_info, int from,
                  std::vector<std::string> kernels)
      : description(std::move(operator_info)),
        info(*description),
        file(from),
        devices(std::move(kernels)) {}
  std::shared_ptr<const OperatorInfo>
      description;           ///< shared with the graphs and calls that use the operator
  const OperatorInfo& info;  ///< the same
  int file = -1;  ///< index into files(); -1: registered by the application or built into the host
  std::vector<std::string> devices;  ///< devices for which a plugin has a kernel: "cpu", "cuda"
  /// for each of `devices`, the file of its kernel; -1: the application's or the host's own
  std::vector<int> kernel_files{};
  struct Variant {
    std::string name, device;
    int file;
  };
  std::vector<Variant> variants{};  ///< additional kernels, chosen by types and priority
  std::string full_name() const { return info.full_name(); }
  /// Whether the space is the name of the plugin's file, because the source declares none.
  bool has_file_space() const { return file >= 0 && !info.own_space && info.space != "tenon"; }
};

/// An operator that declares which ONNX operator it computes, with the form of that declaration.
struct OnnxClaim {
  const CatalogOperator* op;
  const OnnxForm* form;
};

struct CatalogIndex;
class PluginSet;

/// A snapshot of a host's plugin files and operators: a cheap handle of immutable data. References
/// into it stay valid while it or a copy of it exists, whatever is added or loaded meanwhile. Calls
/// on a temporary return copies, and find() a pointer that keeps the operator alive. Threads: any.
class TENON_API Catalog {
 public:
  Catalog();  ///< an empty catalog

  const std::vector<PluginFile>& files() const& { return *files_; }
  std::vector<PluginFile> files() const&& { return *files_; }
  const std::vector<CatalogOperator>& operators() const&;  ///< sorted by name, then space
  std::vector<CatalogOperator> operators() const&&;
  /// A sentence for each duplicate, with the file that is used, and the sentences of
  /// not_searched().
  const std::vector<std::string>& notes() const&;
  std::vector<std::string> notes() const&&;
  const std::vector<std::filesystem::path>& searched() const&;
  std::vector<std::filesystem::path> searched() const&&;
  /// A sentence for each folder or file that TENON_PLUGIN_PATH names and that cannot be read.
  const std::vector<std::string>& not_searched() const&;
  std::vector<std::string> not_searched() const&&;
  /// not_searched() as a suffix for the message about a missing operator: "; SENTENCE"; empty if
  /// everything was searched.
  std::string not_searched_text() const;
  /// Finds an operator by name or alias, full (`acme.rope`) or short. If several spaces have the
  /// short name, it means that of a preferred plugin (HostOptions::prefer), or else the one that
  /// comes with Tenon. Null if there is no such operator, or if several have the name and neither
  /// rule decides.
  const CatalogOperator* find(std::string_view name) const&;
  std::shared_ptr<const CatalogOperator> find(std::string_view name) const&&;
  /// All operators whose manifest claims this ONNX operator in this version of its domain ("" and
  /// "ai.onnx" are the same). Loads none. The forms decide whether a node's attributes and inputs
  /// fit.
  std::vector<OnnxClaim> find_onnx(std::string_view domain, std::string_view type,
                                   int version) const&;
  std::vector<OnnxClaim> find_onnx(std::string_view domain, std::string_view type,
                                   int version) const&& =
      delete;  // the results point into the catalog
  /// The shortest name that find() accepts for the operator: `relu`, or `acme.relu` if `relu` means
  /// another operator.
  std::string shortest_name(const CatalogOperator& op) const;
  /// Up to three similar names; for a short name also those of other spaces.
  std::vector<std::string> near(std::string_view name) const;

  /// Why an operator is unavailable although a file has it: the file is rejected, two files
  /// disagree, or the short name is ambiguous. Empty if no file has the name.
  std::string why_missing(std::string_view name) const;
  std::string next_step(
      std::string_view name) const;  ///< what to do about it; empty if nothing is known

 private:
  friend class PluginSet;
  Catalog(std::shared_ptr<const CatalogIndex> index,
          std::shared_ptr<const std::vector<PluginFile>> files);
  std::vector<std::string> near_full_name(std::string_view name) const;
  const PluginFile* refused_file(std::string_view op) const;
  std::string ambiguity(std::string_view name) const;
  std::shared_ptr<const CatalogIndex> index_;  // never null
  std::shared_ptr<const std::vector<PluginFile>> files_;
};

/// Up to three of `names` that are similar to `name`, the most similar first.
TENON_API std::vector<std::string> similar_names(std::string_view name,
                                                 const std::vector<std::string>& names);
[[deprecated("use similar_names(); until 0.4")]] inline std::vector<std::string> near_names(
    std::string_view name, const std::vector<std::string>& names) {
  return similar_names(name, names);
}

/// A hint: "did you mean sum or sub?" for similar names, or `otherwise` if there are none.
inline std::string did_you_mean(const std::vector<std::string>& near, std::string otherwise = {}) {
  if (near.empty()) return otherwise;
  std::string names;
  for (const std::string& name : near) names += (names.empty() ? "" : " or ") + name;
  return "did you mean " + names + "?";
}

}  // namespace tenon
