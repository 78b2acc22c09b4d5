// Memory of devices that is given back.
#pragma once
#include "device/stream.hpp"

namespace tenon {

/// Memory of the stream's device, for what comes next on the stream; streams that use it, too, must wait for an event that was recorded
/// after it was made, and this stream for theirs before it is given back. It is given back when all that is on the stream by then is done.
class Block {
 public:
  /// `what` needs it, for the Failure (failed) where there is not enough: "the values of the plan".
  Block(const Stream& stream, std::uint64_t bytes, const char* what)
      : data_(stream.device().allocate(bytes, stream.handle(), what), Free{stream}), bytes_(bytes) {}
  std::byte* data() const { return data_.get(); }
  std::uint64_t bytes() const { return bytes_; }
  Device& device() const { return stream().device(); }
  const Stream& stream() const { return data_.get_deleter().stream; }
  Place place(std::uint64_t offset = 0) const { return {device(), data() + offset}; }  ///< offset: at most bytes()

 private:
  struct Free {
    Stream stream;
    void operator()(std::byte* memory) const { stream.device().free(memory, stream.handle()); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::uint64_t bytes_;
};

/// Memory of the CPU that copies from and to the device read and write on their own, while the calling thread goes on. It must not be given
/// back before they are done. Scarce: the system cannot swap it out.
class PinnedBlock {
 public:
  PinnedBlock(Device& device, std::uint64_t bytes, const char* what) : data_(device.allocate_pinned(bytes, what), Free{&device}) {}
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    Device* device;
    void operator()(std::byte* memory) const { device->free_pinned(memory); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace tenon
