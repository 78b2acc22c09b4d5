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

/// Plugins that run in worker processes: what they do to their memory, or how they end, is a Failure of the call and of nothing else. Each
/// plugin has a worker, which has no network, no files and no memory of this process but what its calls read and write. Only operators for
/// the CPU can run there.
struct Isolation {
  bool all = false;
  std::vector<std::string> plugins{};  ///< by name, file name, file name without `.so`, or path; they may be added later
  double call_seconds = 0;             ///< a call that takes longer fails, and its worker is ended; 0: no limit; at most 1e9 counts
  std::uint64_t memory = 0;            ///< bytes that a worker may have, and a call's tensors again; 0: half of this machine's
};

struct HostOptions {
  int threads = 0;                ///< for parallel_for; 0: as many as the affinity mask and the cgroup's CPU quota leave
  std::uint64_t seed = 0;         ///< of eager calls' random numbers: Host::seed()
  bool trust_writable = false;    ///< accept plugins that other users may overwrite
  bool search_defaults = true;    ///< search TENON_PLUGIN_PATH, then the installed folder
  std::filesystem::path cache{};  ///< empty: the user's cache folder
  bool strict_storage = false;    ///< throw Failure instead of converting a sparse tensor to dense because a kernel is missing
  /// Bytes of memory that the process may use; 0: no limit of its own. A session checks it, the cgroup's limit and the address space's
  /// before it takes memory for new input shapes, and throws Failure (failed) with the bytes and the largest tensor if they do not fit.
  /// Plans alone are checked: what kernels allocate themselves is bounded by `ulimit -v` and, in workers, by Isolation::memory.
  std::uint64_t memory_limit = 0;
  bool name_crashes = false;  ///< name the plugin whose code ends the process; for the whole process: see crash.hpp
  /// Called once per operator and storage with what was converted to dense and its size, and for other warnings; from any thread. Default:
  /// a line on stderr.
  std::function<void(const std::string&)> warn{};
  /// Called with each line that a kernel writes by call.log(), warnings excepted; from any thread. Default: they are dropped.
  std::function<void(const std::string&)> log{};
  /// Load only plugins of the installed folder, those on this user's list, and those that a key on his list signed: trust.hpp.
  bool trusted_only = false;
  std::filesystem::path config{};  ///< where these lists are; empty: the user's configuration folder
  Isolation isolate{};             ///< nothing in a graph's file changes it
  /// Plugins (by name, file name, file name without `.so`, or path) or spaces: where operators of several have a short name, it means that
  /// of the first of these that has one. Otherwise it means the one that comes with Tenon; of others, graphs and calls must write the full
  /// name.
  std::vector<std::string> prefer{};
};

/// Names a host and a state of its operators: what was prepared with them is out of date once Host::version() returns another value.
struct HostVersion {
  std::uint64_t host = 0;        ///< differs between all hosts of a process, even if one is gone; 0: no host
  std::uint64_t generation = 0;  ///< Host::generation()
  friend bool operator==(const HostVersion&, const HostVersion&) = default;
};

/// Plugins, devices and threads; usually one for the whole application. Threads: any. Plugins and operators may be added while other
/// threads call operators, load graphs and run sessions; each of these then uses the operators from before or from after the addition.
class TENON_API Host {
 public:
  explicit Host(HostOptions options = {});
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Adds a folder of plugins, or one plugin, to the catalog without loading or running it. Its operators replace those of the same full
  /// name, `acme.rope`, whatever their version, for all nodes, sessions and calls made from now on; what was made before keeps the old
  /// ones. A file that has changed since it was read is read again. Folders added here win over the default folders, of which the first
  /// wins.
  void add_plugins(const std::filesystem::path& folder_or_file);
  Catalog catalog();  ///< as it is now
  /// Another number after each addition: what was made from the operators before may be out of date. Takes no lock.
  std::uint64_t generation() const;
  /// The key of caches that outlive a call, and maybe the host. Takes no lock.
  HostVersion version() const;

  /// Runs an operator now and returns its first output. op: a name or alias, full or short (Catalog::find). All tensors must be on one
  /// device for which the operator has a kernel; the results are there, too. Tensors may have any storage; empty tensors stand for omitted
  /// optional inputs. Checks of sparse indices, and conversions of storage or strides for which a GPU has no kernel, go through the CPU.
  /// Throws Failure.
  Tensor call(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {});
  /// All outputs that are not hidden.
  std::vector<Tensor> call_all(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {});

  /// Prepares calls with inputs of these types (Argument::like returns a tensor's), each of which then costs little more than its kernel.
  PreparedCall prepare(std::string_view op, const std::vector<Argument>& inputs, const Attributes& attributes = {},
                       const PrepareOptions& options = {});

  /// Makes eager and prepared calls draw the numbers that they draw in a new host with HostOptions::seed = seed. Calls that run meanwhile
  /// on other threads draw with either seed. Sessions and Trainers have seeds of their own.
  void seed(std::uint64_t seed);

  /// Registers an operator class of the application, without a plugin, and returns its full name: `app.my_op`, where describe() says no
  /// other space. Default: the class's name in snake_case (MyOp -> my_op). Replaces an operator of that full name, as add_plugins() does.
  /// The short name will do where no other operator has it. Defined in <tenon/host/udf.hpp>. Throws Failure (usage) for the space `tenon`.
  template <class Op>
  std::string add(std::string_view name = {});
  /// The same with objects that `make` returns: members that describe() does not name as parameters stay as it set them, so that one class
  /// may serve several operators. It is called for each node and call that is made, from any thread, and may throw what is wrong. It lives
  /// as long as the host and its graphs.
  template <class Op>
  std::string add(std::string_view name, std::function<Op()> make);
  /// The same from a manifest and a table of functions, which must live as long as the process. With `make`, objects come from there and
  /// not from the table's create(); the table's functions get them, and its destroy() frees them.
  std::string add_operator(std::string_view manifest, const tenon_operator* table, OperatorFactory make = {});

  int threads() const;

  struct TENON_HIDDEN Impl;

 private:
  friend class Graph;
  friend struct Inner;  // the host's own code
  explicit Host(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenon
