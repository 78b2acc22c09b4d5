// What is said when a sparse tensor is made dense because a kernel is wanting.
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

 private:
  bool strict_;
  std::function<void(const std::string&)> warn_;
  std::mutex mutex_;
  std::set<std::string> told_;
};

}  // namespace tenon
