// Tracks the mapped files that tensors refer to, to detect whether they changed during use.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <tenon/host/tensor.hpp>
#include <utility>
#include <vector>

#include "io/file_memory.hpp"

namespace tenon {

/// Keeps the files open. Not thread-safe.
class BackingFiles {
 public:
  BackingFiles() = default;
  explicit BackingFiles(std::span<const Tensor> tensors) {
    for (const auto& tensor : tensors) add(tensor);
  }
  /// Adds the file of a tensor in mapped memory; for other tensors this costs one counter read.
  void add(const Tensor& tensor) {
    if (FileMemory::any_mapped()) look_up(tensor);
  }

  bool empty() const { return files_.empty(); }

  /// Throws Failure (file) that names the first changed file. Costs an fstat for each file.
  void require_unchanged() const {
    for (const auto& file : files_) file->require_unchanged();
  }

  /// Calls use(), then require_unchanged(). If use() throws and a file has changed, that is
  /// reported instead.
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
  // Consecutive tensors are usually in the same file, so the last one is checked first.
  void look_up(const Tensor& tensor) {
    if (!tensor) return;
    const auto& abi = tensor.abi();
    if (abi.dense.device_type != TENON_CPU) return;
    for (const void* const begin :
         std::initializer_list<const void*>{abi.dense.data, abi.indices, abi.row_starts}) {
      auto file = begin == nullptr ? nullptr : FileMemory::at(begin);
      if (file != nullptr && std::find(files_.rbegin(), files_.rend(), file) == files_.rend())
        files_.push_back(std::move(file));
    }
  }

  std::vector<std::shared_ptr<const FileMemory>> files_;
};

}  // namespace tenon
