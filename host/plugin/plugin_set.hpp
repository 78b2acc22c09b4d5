// The catalog and the operators loaded from it.
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
#include "io/crash/running.hpp"
#include "plugin/saved_operator.hpp"

namespace tenon {

class IsolatedPlugin;
class IsolatedTable;
class PluginSet;

/// An operator ready to be created. Lives as long as its set, and what it points to in plugins as long as the process: they are never
/// unloaded.
struct LoadedOperator {
  std::shared_ptr<const OperatorInfo> info;  ///< the catalog's
  int file = -1;                             ///< index into Catalog::files(); -1: the application's or the host's own
  const tenon_operator* table = nullptr;     ///< create, infer, gradient ...
  const OperatorFactory* make = nullptr;     ///< instead of the table's create(); mostly null
  ByDevice<const tenon_operator*> kernels;   ///< forward ...: table itself, or a TENON_KERNEL's; null if a device has none
  PluginSet* plugins = nullptr;              ///< that it was loaded by: composed operators find others there
  const CodeOwner* owner = nullptr;          ///< of table
  ByDevice<const CodeOwner*> kernel_owners;  ///< of kernels
  /// A kernel beside them (TENON_KERNEL_VARIANT).
  struct Variant {
    const tenon_operator* table;
    const CodeOwner* owner;
    std::string name;
  };
  std::vector<Variant> variants;
  /// All that compute forward there, the kernel and the variants: the highest priority first.
  ByDevice<std::vector<const tenon_operator*>> candidates;
  /// Is told (key, sentence) what a plugin does that it should not, from any thread; each key counts once. Null: nobody.
  const std::function<void(const std::string&, const std::string&)>* warn = nullptr;
  std::string kernel_error;  ///< why a kernel that the catalog has is null here; a sentence, mostly empty
  /// Why backward_sparse is not run, and backward gets dense tensors instead; a sentence, mostly empty. So it is with elementwise operators
  /// from an SDK before 0.2, which tried six numbers to find where a derivative is 0. Their manifest does not tell that from an author's
  /// own backward_sparse in an elementwise class, which is not run either.
  std::string sparse_gradient_fault;
  std::vector<std::shared_ptr<const IsolatedTable>> isolated;  ///< those of its tables whose functions run in workers

  /// For that type of device (enum tenon_device); null where there is none.
  const tenon_operator* kernel(std::int32_t device_type) const { return kernels[device_type]; }
  /// In whose worker process its kernels for the CPU run; null: in this process.
  const IsolatedPlugin* isolated_plugin() const;
  /// Null where the table is that of no variant.
  const Variant* variant_of(const tenon_operator& its) const {
    for (const auto& variant : variants)
      if (variant.table == &its) return &variant;
    return nullptr;
  }
  /// Whose table that is: the operator's own, or one of its kernels'.
  const CodeOwner* owner_of(const tenon_operator& its) const {
    if (const auto* variant = variant_of(its)) return variant->owner;
    for (const auto& type : device_types)
      if (kernels[type.number] == &its && &its != table) return kernel_owners[type.number];
    return owner;
  }
};

/// Plugins whose code runs in worker processes, and never in this one.
struct PluginIsolation {
  bool all = false;
  std::vector<std::string> plugins{};  ///< as is_called() takes them
  double call_seconds = 0;
  std::uint64_t memory = 0;
  int threads = 1;
  std::filesystem::path program{};  ///< tenon-worker; empty: the one beside the host's library
};

struct PluginOptions {
  std::filesystem::path cache;  ///< quarantine and first-load records; empty: the user's cache folder (XDG_CACHE_HOME, HOME)
  bool trust_writable = false;
  bool trusted_only = false;     ///< only what the lists of trust allow
  std::filesystem::path config;  ///< where they are; empty: the user's configuration folder
  bool probe = true;             ///< first load of an unknown file happens in a child process
  int probe_timeout_ms = 10000;
  std::filesystem::path probe_program;  ///< tenon-probe; empty: the one beside the host's library
  /// Whether to load CUDA kernels too; where there is no device they only cost time. Asked once, before the first operator is loaded.
  std::function<bool()> cuda = has_cuda_driver;
  std::function<void(const std::string& key, const std::string& sentence)> warn = nullptr;  ///< see LoadedOperator::warn
  PluginIsolation isolation{};
  std::vector<std::string> prefer{};  ///< whose operators short names mean: see ShortNames
};

/// Threads: any. What is added shows whole or not at all; questions go on being answered meanwhile, from what there was before.
class PluginSet {
 public:
  /// `host` is what plugins get; it must live as long as the process.
  PluginSet(const PluginOptions& options, const tenon_host& host);
  ~PluginSet();
  PluginSet(const PluginSet&) = delete;
  PluginSet& operator=(const PluginSet&) = delete;

  /// Reads the folder's files NAME.so (sorted) into the catalog, where they replace what was there of their operators' names (see
  /// CatalogBuilder). What is wrong with a file becomes its status. A folder that cannot be read is a Failure (file) that names it.
  void scan(const std::filesystem::path& folder);
  /// Folders and files that come after all others, whenever they are read; of them the first wins. Files that are there already are left
  /// alone. What cannot be read is passed over, and Catalog::not_searched() says so.
  void scan_defaults(const std::vector<std::filesystem::path>& places);
  /// One file by its path, whatever it is called.
  void add_file(const std::filesystem::path& file);
  /// An operator of the application itself; `table` must live as long as the process. With `make` its objects come from there and not from
  /// the table's create(). Returns its full name. Throws Failure (usage) for what is broken, and for the space of Tenon's own operators.
  std::string add(std::span<const std::byte> manifest, const tenon_operator* table, OperatorFactory make = {});
  /// The full name under which that table was added and is still found: `preferred` if it is one, or another one; empty: none.
  std::string name_of(const tenon_operator* table, std::string_view preferred) const;
  /// An operator of the host itself, which nothing replaces. Before anything else is added. `allocates`: its kernel allocates all outputs,
  /// however many there are, as no class of the SDK may.
  void add_builtin(std::span<const std::byte> manifest, const tenon_operator* table, OperatorFactory make = {}, bool allocates = false);

  Catalog catalog() const;
  bool has(std::string_view op) const;  ///< by name or alias
  /// The full name of the operator that a file names, and what is to be said where it is another one's: see find_saved(). Empty: none.
  struct Found {
    std::string name, note;
  };
  Found find(const SavedOperator& saved) const;
  /// Whether what was saved can run on the operator of this description.
  using Fits = std::function<bool(const OperatorInfo&)>;
  /// Of all versions of that operator that are here, the newest that fits; for a text, whose author knows what the name means today, the
  /// one that the name stands for if it fits. If none does, that one, for the caller to refuse. No info: there is no such operator.
  struct Chosen {
    std::shared_ptr<const OperatorInfo> info;
    int file = -1;  ///< as LoadedOperator::file
  };
  Chosen choose(const SavedOperator& saved, const Fits& fits) const;
  /// The same, loaded; warns where it is another one's. Throws as load() does.
  const LoadedOperator& load(const SavedOperator& saved, const Fits& fits);
  /// Another number after each addition.
  std::uint64_t generation() const;

  /// By name or alias, full or short (see Catalog::find); loads the plugin at first use. A short name means first the operator of the space
  /// `home`: what an operator's author calls by a short name is his own, or else Tenon's. Throws Failure (plugin) where it is unknown (near
  /// names, folders searched) or that of several, or its file cannot be loaded (status and sentence also go into the catalog). What it gave
  /// stays as it is, and valid, when the operator is replaced.
  const LoadedOperator& load(std::string_view op, std::string_view home = {});
  /// Full names of the file's operators, then of those that its kernels for this type of device serve.
  std::vector<std::string> served_by(int file, std::string_view device) const;

  /// A file as it is now; `number` is an index into Catalog::files().
  PluginFile file(int number) const;
  /// XXH3 of the whole file; 0 where it cannot be read any more.
  std::uint64_t content_hash(int number);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
