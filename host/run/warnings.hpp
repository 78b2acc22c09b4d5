// Warnings about missing kernels: sparse tensors converted to dense, nodes that fall back to the
// CPU. Each is issued once.
#pragma once
#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace tenon {

/// Threads: any.
class Warnings {
 public:
  Warnings(bool strict, std::function<void(const std::string&)> warn)
      : strict_(strict), warn_(std::move(warn)) {}

  /// A sparse tensor was converted to dense. `key`: the operator and the storage. Throws Failure if
  /// the host is strict about storage.
  void densified(const std::string& key, const std::string& what);
  /// Warnings that are always allowed: a node that cannot run on its device, work that cannot be
  /// captured. Issues one warning per `key`.
  void once(const std::string& key, const std::string& what);

 private:
  bool strict_;
  std::function<void(const std::string&)> warn_;
  std::mutex mutex_;
  std::set<std::string> issued_;
};

}  // namespace tenon
