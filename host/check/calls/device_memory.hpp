// Tensors of a check in device memory, surrounded by bytes that kernels must not write.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <tenon/host/tensor.hpp>

#include "device/block.hpp"

namespace tenon::checks {

enum class Layout : std::uint8_t {
  aligned,    ///< contiguous and aligned, like the host's tensors
  unaligned,  ///< contiguous, but shifted by one element
  strided     ///< the first axis is the fastest, and every second element is unused
};

/// Holds all tensors of one call, so that a single copy transfers them in each direction.
class DeviceMemory {
 public:
  /// `bytes`: total size of all tensors that will be added, each with layout `layout` or aligned.
  DeviceMemory(std::int64_t bytes, std::size_t tensors, Layout layout, Device& device);

  /// Adds a device tensor for a contiguous CPU tensor, whose elements it gets at upload().
  Tensor add(const Tensor& elements, Layout layout);
  /// Replaces its elements from the next upload() on.
  void change(const Tensor& device_tensor, const Tensor& elements);
  void upload();    ///< before subsequent work on the device's tensor_stream()
  void download();  ///< after all preceding work on that stream

  /// The elements as of the last download(). `device_tensor` is a tensor that add() returned.
  Tensor elements(const Tensor& device_tensor) const;
  /// Describes a byte next to the tensors that was written; empty if there is none.
  std::string stray_write() const;

 private:
  struct Region {
    std::int64_t begin, end;
    Layout layout;
  };
  std::map<const void*, Region> regions_;  // by device address
  std::int64_t used_ = 0;
  Tensor before_, after_;  // all bytes, on the CPU
  std::shared_ptr<Block> bytes_;
};

}  // namespace tenon::checks
