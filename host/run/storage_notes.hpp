// What is said when a kernel is wanting: sparse tensors are made dense, nodes run on the CPU.
#pragma once
#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace tenon {

/// Threads: any.
class StorageNotes {
 public:
  StorageNotes(bool strict, std::function<void(const std::string&)> warn) : strict_(strict), warn_(std::move(warn)) {}

  /// `key`: the operator and what was made dense; each is told of once. Throws Failure where it is not allowed at all.
  void made_dense(const std::string& key, const std::string& what);
  /// The same for what is always allowed: a node that cannot run where it should, work that cannot be captured.
  void tell(const std::string& key, const std::string& what);

 private:
  bool strict_;
  std::function<void(const std::string&)> warn_;
  std::mutex mutex_;
  std::set<std::string> told_;
};

}  // namespace tenon
