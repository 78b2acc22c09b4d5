// The catalog, and the operators loaded from it.
#pragma once
#include <tenon/abi.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tenon/host/catalog.hpp>
#include <vector>

#include "device/cuda_state.hpp"
#include "device/device_types.hpp"
#include "io/crash/active_call.hpp"
#include "plugin/saved_operator.hpp"

namespace tenon {

class IsolatedPlugin;
class IsolatedTable;
class PluginSet;

/// A loaded operator. Lives as long as its set; what it points to in plugins lives as long as the
/// process, because plugins are never unloaded.
struct LoadedOperator {
  std::shared_ptr<const OperatorInfo> info;  ///< shared with the catalog
  /// index into Catalog::files(); -1 for operators of the application or host
  int file = -1;
  const tenon_operator* table = nullptr;  ///< create, infer, gradient ...
  const OperatorFactory* make = nullptr;  ///< used instead of the table's create(); usually null
  /// forward ...: `table` itself, or that of a TENON_KERNEL; null for devices without a kernel
  ByDevice<const tenon_operator*> kernels;
  /// the set that loaded it; composed operators look up others there
  PluginSet* plugins = nullptr;
  const CodeOwner* owner = nullptr;          ///< owner of `table`
  ByDevice<const CodeOwner*> kernel_owners;  ///< owners of `kernels`
  /// An additional kernel (TENON_KERNEL_VARIANT).
  struct Variant {
    const tenon_operator* table;
    const CodeOwner* owner;
    std::string name;
  };
  std::vector<Variant> variants;
  /// Kernels and variants that implement forward on each device, by descending priority.
  ByDevice<std::vector<const tenon_operator*>> candidates;
  /// Called with (key, message) for plugin misbehaviour; thread-safe; each key counts once. Null if
  /// there is no callback.
  const std::function<void(const std::string&, const std::string&)>* warn = nullptr;
  std::string kernel_error;  ///< why a kernel that the catalog lists is null here; usually empty
  /// Why backward_sparse is not run and backward gets dense tensors instead; usually empty. Affects
  /// elementwise operators built with an SDK older than 0.2, which tried six values to find where a
  /// derivative is 0. Their manifests do not distinguish that from an author's own backward_sparse
  /// in an elementwise class, which is not run either.
  std::string sparse_gradient_fault;
  /// tables whose functions run in workers
  std::vector<std::shared_ptr<const IsolatedTable>> isolated;

  /// Returns the kernel for a type of device (enum tenon_device); null if there is none.
  const tenon_operator* kernel(std::int32_t device_type) const { return kernels[device_type]; }
  /// Returns the plugin whose worker process runs its CPU kernels; null if this process runs them.
  const IsolatedPlugin* isolated_plugin() const;
  /// Returns null if the table is not that of a variant.
  const Variant* variant_of(const tenon_operator& its) const {
    for (const auto& variant : variants)
      if (variant.table == &its) return &variant;
    return nullptr;
  }
  /// Returns the owner of the table, which is the operator's own or that of one of its kernels.
  const CodeOwner* owner_of(const tenon_operator& its) const {
    if (const auto* variant = variant_of(its)) return variant->owner;
    for (const auto& type : device_types)
      if (kernels[type.number] == &its && &its != table) return kernel_owners[type.number];
    return owner;
  }
};

/// Plugins whose code runs only in worker processes.
struct PluginIsolation {
  bool all = false;
  std::vector<std::string> plugins{};  ///< as accepted by is_called()
  double call_seconds = 0;
  std::uint64_t memory = 0;
  int threads = 1;
  std::filesystem::path program{};  ///< path of tenon-worker; empty: next to the host's library
};

struct PluginOptions {
  /// folder of quarantine and first-load records; empty: the user's cache folder (XDG_CACHE_HOME,
  /// HOME)
  std::filesystem::path cache;
  bool trust_writable = false;
  bool trusted_only = false;  ///< load only what the trust lists allow
  /// folder of the trust lists; empty: the user's configuration folder
  std::filesystem::path config;
  bool probe = true;  ///< load unknown files in a child process first
  int probe_timeout_ms = 10000;
  std::filesystem::path probe_program;  ///< path of tenon-probe; empty: next to the host's library
  /// Whether to load CUDA kernels, which only costs time if there is no device. Called once, before
  /// the first operator is loaded.
  std::function<bool()> cuda = has_cuda_driver;
  std::function<void(const std::string& key, const std::string& sentence)> warn =
      nullptr;  ///< see LoadedOperator::warn
  PluginIsolation isolation{};
  /// preferred plugins and namespaces for short names, see ShortNames
  std::vector<std::string> prefer{};
};

/// Thread-safe. Additions are atomic; concurrent readers see the old catalog until then.
class PluginSet {
 public:
  /// `host` is passed to plugins; it must live as long as the process.
  PluginSet(const PluginOptions& options, const tenon_host& host);
  ~PluginSet();
  PluginSet(const PluginSet&) = delete;
  PluginSet& operator=(const PluginSet&) = delete;

  /// Adds the folder's NAME.so files (sorted) to the catalog, where they replace earlier operators
  /// of the same names (see CatalogBuilder). Faults of a file become its status. Throws Failure
  /// (file) if the folder cannot be read.
  void scan(const std::filesystem::path& folder);
  /// Adds folders and files with the lowest precedence, whenever they are read; among them the
  /// first wins. Files already in the set are left alone. Unreadable entries are skipped and listed
  /// in Catalog::not_searched().
  void scan_defaults(const std::vector<std::filesystem::path>& paths);
  /// Adds one file by its path, whatever its name.
  void add_file(const std::filesystem::path& file);
  /// Adds an operator of the application; `table` must live as long as the process. With `make`,
  /// objects are created by it instead of the table's create(). Returns the full name. Throws
  /// Failure (usage) for a broken manifest or table, and for the namespace of Tenon's own
  /// operators.
  std::string add(std::span<const std::byte> manifest, const tenon_operator* table,
                  OperatorFactory make = {});
  /// Returns the full name under which the table was added and can still be found: `preferred` if
  /// it is one, else another; empty if there is none.
  std::string name_of(const tenon_operator* table, std::string_view preferred) const;
  /// Adds an operator of the host itself, which nothing replaces. Must precede all other additions.
  /// `allocates`: its kernel allocates all outputs, however many there are, which classes of the
  /// SDK cannot do.
  void add_builtin(std::span<const std::byte> manifest, const tenon_operator* table,
                   OperatorFactory make = {}, bool allocates = false);

  Catalog catalog() const;
  bool has(std::string_view op) const;  ///< by name or alias
  /// Returns the full name of the operator that a file refers to, and a note if it is a different
  /// one: see find_saved(). The name is empty if there is none.
  struct Found {
    std::string name, note;
  };
  Found find(const SavedOperator& saved) const;
  /// Returns whether a saved node can run on the operator described.
  using Fits = std::function<bool(const OperatorInfo&)>;
  /// Returns the newest version of the operator that fits; for a text, whose author uses today's
  /// names, the version that the name refers to if it fits. If no version fits, returns that one,
  /// for the caller to refuse. `info` is null if there is no such operator.
  struct Chosen {
    std::shared_ptr<const OperatorInfo> info;
    int file = -1;  ///< as LoadedOperator::file
  };
  Chosen choose(const SavedOperator& saved, const Fits& fits) const;
  /// Like choose(), and loads it; warns if it is a different operator than the saved one. Throws as
  /// load() does.
  const LoadedOperator& load(const SavedOperator& saved, const Fits& fits);
  /// Returns a number that changes with every addition.
  std::uint64_t generation() const;

  /// Returns the operator by name or alias, full or short (see Catalog::find); loads its plugin on
  /// first use. A short name first refers to the operator in namespace `home`, then to Tenon's,
  /// since authors use short names for their own operators. Throws Failure (plugin) if the name is
  /// unknown (with similar names and the folders searched) or ambiguous, or if its file cannot be
  /// loaded (the catalog then has the status and reason). The result stays valid and unchanged when
  /// the operator is replaced.
  const LoadedOperator& load(std::string_view op, std::string_view home = {});
  /// Returns the full names of the file's operators, then of those that its kernels for this type
  /// of device serve.
  std::vector<std::string> served_by(int file, std::string_view device) const;

  /// Returns the current state of a file; `number` is an index into Catalog::files().
  PluginFile file(int number) const;
  /// Returns the XXH3 of the whole file; 0 if it can no longer be read.
  std::uint64_t content_hash(int number);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
