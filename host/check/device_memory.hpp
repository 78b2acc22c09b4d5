// Tensors of a check on a device, between bytes that nobody may write.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <tenon/host/tensor.hpp>

#include "device/block.hpp"

namespace tenon::checks {

enum class Lie : std::uint8_t {
  aligned,    ///< contiguous, as the host's own tensors are
  unaligned,  ///< contiguous, one element further on
  strided     ///< the first axis runs fastest, and every second place is empty
};

/// All of one call, so that one copy brings them there and one back.
class DeviceMemory {
 public:
  /// `bytes`: of all tensors that will be added, together, each as `lie` says or aligned.
  DeviceMemory(std::int64_t bytes, std::size_t tensors, Lie lie, Device& device);

  /// A tensor there for a contiguous one of the CPU, whose elements it has after upload().
  Tensor add(const Tensor& elements, Lie lie);
  /// Other elements for it, from the next upload() on.
  void change(const Tensor& there, const Tensor& elements);
  void upload();    ///< for what comes next on the tensor_stream() of the device
  void download();  ///< as they are after all that is on it

  /// As they were when they were downloaded. `there` is what add() gave.
  Tensor elements(const Tensor& there) const;
  /// A sentence about a byte beside the tensors that was written; empty where none was.
  std::string stray_write() const;

 private:
  struct Part {
    std::int64_t begin, end;
    Lie lie;
  };
  std::map<const void*, Part> parts_;  // by where it is on the device
  std::int64_t used_ = 0;
  Tensor before_, after_;  // all bytes, on the CPU
  std::shared_ptr<Block> bytes_;
};

}  // namespace tenon::checks
