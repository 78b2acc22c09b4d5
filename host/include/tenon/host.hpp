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
  int threads = 0;                ///< for parallel_for; 0: as many as the machine has
  std::uint64_t seed = 0;         ///< of eager calls' random numbers
  bool trust_writable = false;    ///< accept plugins that other users may write to
  bool search_defaults = true;    ///< TENON_PLUGIN_PATH, then the installed folder
  std::filesystem::path cache{};  ///< empty: the user's cache folder
  bool strict_storage = false;    ///< a sparse tensor that would be made dense for want of a kernel is a Failure
  /// Is told, once for each operator and storage, what was made dense and how large it became; from any thread. Empty: a line on stderr.
  std::function<void(const std::string&)> warn{};
};

/// Everything that lives as long as the application works with Tenon. Threads: any, also add(), add_plugins() and add_operator() while
/// others call operators, load graphs and run sessions: each call, node and session has the operators as they were before or after.
class Host {
 public:
  explicit Host(HostOptions options = {});
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Reads a folder of plugins, or one file, into the catalog. Nothing is loaded or run. An operator that it brings replaces one of that
  /// name that was there, whatever its version, for all nodes, sessions and calls made from now on; what was made before goes on with
  /// the old one. A file that has changed since it was read is read again. Folders given here and operators of the application win over
  /// the default folders, of which the first wins.
  void add_plugins(const std::filesystem::path& folder_or_file);
  Catalog catalog();  ///< as it is now

  /// Runs an operator now, on tensors of any storage, where they lie: all on one device, where the results are, too, and where the operator
  /// has a kernel. Absent optional inputs are empty tensors. What a sparse tensor's indices are checked for, and what no kernel can do on a
  /// GPU (other storages, strided inputs to contiguous ones), goes through the CPU. Throws Failure.
  Tensor call(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {});
  /// All outputs that are not hidden.
  std::vector<Tensor> call_all(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {});

  /// The same made ready once: for inputs of these types (Argument::like gives a tensor's), by a call that costs little more than its
  /// kernel.
  PreparedCall prepare(std::string_view op, const std::vector<Argument>& inputs, const Attributes& attributes = {},
                       const PrepareOptions& options = {});

  /// Registers an operator class of the application itself, without a plugin. An empty name: the class's own in snake_case (MyOp -> my_op).
  /// Gives the name. Replaces an operator of that name, as add_plugins() does. Defined in <tenon/udf.hpp>. Throws Failure (usage) where
  /// the name is that of an operator of the host itself.
  template <class Op>
  std::string add(std::string_view name = {});
  /// The same with objects that `make` returns: members that describe() does not name as parameters stay as it set them, so that one class
  /// may serve several operators. It is called for each node and call that is made, from any thread, and may throw what is wrong. It lives
  /// as long as the host and its graphs.
  template <class Op>
  std::string add(std::string_view name, std::function<Op()> make);
  /// The same from a manifest and a table of functions, which must live as long as the process. With `make`, objects come from there and
  /// not from the table's create(); the table's functions get them, and its destroy() frees them.
  void add_operator(std::string_view manifest, const tenon_operator* table, OperatorFactory make = {});

  int threads() const;

  struct Impl;
  Impl& impl() { return *impl_; }  ///< for the host's own code

 private:
  friend class Graph;
  explicit Host(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenon
