#include "tensor/backing_files.hpp"

#include <algorithm>

namespace tenon {

// Consecutive tensors are usually in the same file, so the last one is checked first.
void BackingFiles::look_up(const Tensor& tensor) {
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

}  // namespace tenon
