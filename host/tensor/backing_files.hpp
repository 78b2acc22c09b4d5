// The mapped files in which tensors lie, to ask after their use whether they stayed as they were.
#pragma once
#include <memory>
#include <span>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "io/file_memory.hpp"

namespace tenon {

/// Holds the files. Threads: one at a time.
class BackingFiles {
 public:
  BackingFiles() = default;
  explicit BackingFiles(std::span<const Tensor> tensors) {
    for (const auto& tensor : tensors) add(tensor);
  }
  /// Of one that lies in a mapped file; others cost a look at a counter.
  void add(const Tensor& tensor) {
    if (FileMemory::any_mapped()) look_up(tensor);
  }

  bool empty() const { return files_.empty(); }

  /// Throws Failure (file) that names the first one that has changed. An fstat for each, so nothing where there is none.
  void require_unchanged() const {
    for (const auto& file : files_) file->require_unchanged();
  }

  /// use(), and then the same question; also where it fails, for then a changed file is the reason.
  template <class Use>
  void use(Use&& use) const {
    try {
      use();
    } catch (...) {
      require_unchanged();
      throw;
    }
    require_unchanged();
  }

 private:
  void look_up(const Tensor& tensor);

  std::vector<std::shared_ptr<const FileMemory>> files_;
};

}  // namespace tenon
