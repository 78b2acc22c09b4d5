// The host: plugins, devices, eager calls.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <tenon/attribute_map.hpp>
#include <tenon/catalog.hpp>
#include <tenon/failure.hpp>
#include <tenon/prepared_call.hpp>
#include <tenon/tensor.hpp>
#include <vector>

namespace tenon {

struct HostOptions {
  int threads = 0;                ///< for parallel_for; 0: as many as the affinity mask and the cgroup's CPU quota leave
  std::uint64_t seed = 0;         ///< of eager calls' random numbers
  bool trust_writable = false;    ///< accept plugins that other users may overwrite
  bool search_defaults = true;    ///< search TENON_PLUGIN_PATH, then the installed folder
  std::filesystem::path cache{};  ///< empty: the user's cache folder
  bool strict_storage = false;    ///< throw Failure instead of converting a sparse tensor to dense because a kernel is missing
  /// Called once per operator and storage with what was converted to dense and its size, and for other warnings; from any thread. Default:
  /// a line on stderr.
  std::function<void(const std::string&)> warn{};
};

/// Plugins, devices and threads; usually one for the whole application. Threads: call add_* from one thread, before all others; then call()
/// and prepare() from any.
class Host {
 public:
  explicit Host(HostOptions options = {});
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Adds a folder of plugins, or one plugin, to the catalog without loading or running it. If several files have an
  /// operator, the highest version is used, and of equal ones the file that was added first.
  void add_plugins(const std::filesystem::path& folder_or_file);
  const Catalog& catalog();

  /// Runs an operator now and returns its first output. All tensors must be on one device for which the operator has a kernel; the results
  /// are there, too. Tensors may have any storage; empty tensors stand for omitted optional inputs. Checks of sparse indices, and
  /// conversions of storage or strides for which a GPU has no kernel, go through the CPU. Throws Failure.
  Tensor call(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {});
  /// All outputs that are not hidden.
  std::vector<Tensor> call_all(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {});

  /// Prepares calls with inputs of these types (Argument::like returns a tensor's), each of which then costs little more than its kernel.
  PreparedCall prepare(std::string_view op, const std::vector<Argument>& inputs, const Attributes& attributes = {},
                       const PrepareOptions& options = {});

  /// Registers an operator class of the application, without a plugin, and returns its name. Default: the class's name in snake_case
  /// (MyOp -> my_op). Defined in <tenon/udf.hpp>. Throws Failure (usage) if the name is taken.
  template <class Op>
  std::string add(std::string_view name = {});
  /// The same from a manifest and a table of functions, which must live as long as the process.
  void add_operator(std::string_view manifest, const tenon_operator* table);

  int threads() const;

  struct Impl;
  Impl& impl() { return *impl_; }  ///< for the host's own code

 private:
  friend class Graph;
  explicit Host(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenon
