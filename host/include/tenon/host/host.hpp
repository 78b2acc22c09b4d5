// The host: plugins, devices, eager calls.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host/api.hpp>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/catalog.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/host/prepared_call.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

namespace tenon {

/// Plugins that run in worker processes: memory corruption or a crash there is a Failure of the
/// call and nothing else. Each plugin has a worker, which has no network, no files, and of this
/// process's memory only what its calls read and write. Only operators for the CPU can run there.
struct Isolation {
  bool all = false;
  std::vector<std::string>
      plugins{};  ///< by name, file name, file name without `.so`, or path; they may be added later
  double call_seconds =
      0;  ///< a longer call fails, and its worker is ended; 0: no limit; capped at 1e9
  /// bytes for a worker, and again for a call's tensors; 0: half of this machine's memory
  std::uint64_t memory = 0;
};

struct HostOptions {
  int threads =
      0;  ///< for parallel_for; 0: as many as the affinity mask and the cgroup's CPU quota allow
  std::uint64_t seed = 0;         ///< seed of eager calls' random numbers: see Host::seed()
  bool trust_writable = false;    ///< accept plugins that other users may overwrite
  bool search_defaults = true;    ///< search TENON_PLUGIN_PATH, then the installed folder
  std::filesystem::path cache{};  ///< empty: the user's cache folder
  bool strict_storage = false;  ///< throw Failure instead of converting a sparse tensor to dense if
                                ///< a kernel is missing
  /// Bytes of memory that the process may use; 0: no limit of its own. Before a session allocates
  /// memory for new input shapes, it checks this limit, the cgroup's and the address space's, and
  /// throws Failure (failed) with the bytes and the largest tensor if they do not suffice. Only
  /// plans are checked: kernels' own allocations are bounded by `ulimit -v` and, in workers, by
  /// Isolation::memory.
  std::uint64_t memory_limit = 0;
  /// name the plugin whose code ends the process; applies to the whole process: see crash.hpp
  bool name_crashes = false;
  /// Called once per operator and storage about a conversion to dense and its size, and for other
  /// warnings; from any thread. Default: a line on stderr.
  std::function<void(const std::string&)> warn{};
  /// Called with each line that a kernel logs by call.log(), except for warnings; from any thread.
  /// Default: lines are dropped.
  std::function<void(const std::string&)> log{};
  /// Load only plugins of the installed folder, those on the user's list, and those signed by a key
  /// on the user's list: see trust.hpp.
  bool trusted_only = false;
  /// the folder of these lists; empty: the user's configuration folder
  std::filesystem::path config{};
  Isolation isolate{};  ///< not affected by graph files
  /// Plugins (by name, file name, file name without `.so`, or path) or spaces: a short name that
  /// several have means the operator of the first of these that has it. Otherwise it means the one
  /// that comes with Tenon; for other ambiguous names, graphs and calls must use the full name.
  std::vector<std::string> prefer{};
};

/// Identifies a host and a state of its operators. Whatever was prepared with them is outdated once
/// Host::version() returns another value.
struct HostVersion {
  /// unique among all hosts of the process, including destroyed ones; 0: no host
  std::uint64_t host = 0;
  std::uint64_t generation = 0;  ///< Host::generation()
  friend bool operator==(const HostVersion&, const HostVersion&) = default;
};

/// Plugins, devices and threads; usually one for the whole application. Threads: any. Plugins and
/// operators may be added while other threads call operators, load graphs and run sessions; each of
/// these uses the operators from either before or after the addition.
class TENON_API Host {
 public:
  explicit Host(HostOptions options = {});
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Adds a folder of plugins, or one plugin, to the catalog without loading or running it. Its
  /// operators replace those of the same full name, `acme.rope`, whatever their version, for all
  /// nodes, sessions and calls created from now on; existing ones keep the old operators. A file
  /// that has changed since it was read is read again. Folders added here take precedence over the
  /// default folders, of which the first takes precedence.
  void add_plugins(const std::filesystem::path& folder_or_file);
  Catalog catalog();  ///< the current state
  /// Changes with each addition: anything made from the operators before may be outdated. Takes no
  /// lock.
  std::uint64_t generation() const;
  /// The key for caches that outlive a call, and possibly the host. Takes no lock.
  HostVersion version() const;

  /// Runs an operator eagerly and returns its first output. op: a name or alias, full or short
  /// (Catalog::find). All tensors must be on one device for which the operator has a kernel; the
  /// results are on that device. Tensors may have any storage; empty tensors stand for omitted
  /// optional inputs. States may follow the inputs and are changed in place; empty ones are new for
  /// this call. Those of a variadic operator must follow. Checks of sparse indices, and conversions
  /// of storage or strides for which a GPU has no kernel, go through the CPU. Throws Failure.
  Tensor call(std::string_view op, const std::vector<Tensor>& inputs,
              const Attributes& attributes = {});
  /// Like call(), but returns all outputs that are not hidden.
  std::vector<Tensor> call_all(std::string_view op, const std::vector<Tensor>& inputs,
                               const Attributes& attributes = {});
  /// Like call_all(), and with `training` as part of a training run: dropout drops.
  std::vector<Tensor> call_all(std::string_view op, const std::vector<Tensor>& inputs,
                               const Attributes& attributes, bool training);

  /// Prepares calls with inputs of these types (Argument::like returns a tensor's). Each call then
  /// costs little more than its kernel.
  PreparedCall prepare(std::string_view op, const std::vector<Argument>& inputs,
                       const Attributes& attributes = {}, const PrepareOptions& options = {});

  /// Restarts the random numbers of eager and prepared calls as in a new host with
  /// HostOptions::seed = seed. Calls that run concurrently on other threads use either seed.
  /// Sessions and Trainers have their own seeds.
  void seed(std::uint64_t seed);

  /// Registers an operator class of the application, without a plugin, and returns its full name:
  /// `app.my_op`, unless describe() declares another space. Default name: the class's name in
  /// snake_case (MyOp -> my_op). Replaces an operator of the same full name, as add_plugins() does.
  /// The short name suffices if no other operator has it. Defined in <tenon/host/udf.hpp>. Throws
  /// Failure (usage) for the space `tenon`.
  template <class Op>
  std::string add(std::string_view name = {});
  /// Like add() above, with objects returned by `make`: members that describe() does not declare as
  /// parameters keep the values set there, so that one class may implement several operators.
  /// `make` is called for each new node and call, from any thread, and may throw an error message.
  /// It lives as long as the host and its graphs.
  template <class Op>
  std::string add(std::string_view name, std::function<Op()> make);
  /// Registers an operator from a manifest and a table of functions, which must live as long as the
  /// process. With `make`, objects come from there instead of the table's create(); they are passed
  /// to the table's functions and freed by its destroy().
  std::string add_operator(std::string_view manifest, const tenon_operator* table,
                           OperatorFactory make = {});

  int threads() const;

  struct TENON_HIDDEN Impl;

 private:
  friend class Graph;
  friend struct ImplAccess;  // the host's own code
  explicit Host(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenon
