// Owning handles of device memory and of pinned CPU memory.
#pragma once
#include "device/stream.hpp"

namespace tenon {

/// Stream-ordered memory on the stream's device. Other streams that use it must wait for an event
/// recorded after its creation, and this stream must wait for theirs before the block is destroyed.
/// The memory is freed when all work submitted to the stream by then is done.
class Block {
 public:
  /// `what` names the consumer in the Failure (failed) if memory runs out: "the values of the
  /// plan".
  Block(const Stream& stream, std::uint64_t bytes, const char* what)
      : data_(stream.device().allocate(bytes, stream.handle(), what), Free{stream}),
        bytes_(bytes) {}
  std::byte* data() const { return data_.get(); }
  std::uint64_t bytes() const { return bytes_; }
  Device& device() const { return stream().device(); }
  const Stream& stream() const { return data_.get_deleter().stream; }
  DeviceAddress address(std::uint64_t offset = 0) const {
    return {device(), data() + offset};
  }  ///< offset: at most bytes()

 private:
  struct Free {
    Stream stream;
    void operator()(std::byte* memory) const { stream.device().free(memory, stream.handle()); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::uint64_t bytes_;
};

/// Page-locked CPU memory that asynchronous copies read and write while the calling thread
/// continues. It must not be destroyed before they are done. A scarce resource: the system cannot
/// swap it out.
class PinnedBlock {
 public:
  PinnedBlock(Device& device, std::uint64_t bytes, const char* what)
      : data_(device.allocate_pinned(bytes, what), Free{&device}) {}
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    Device* device;
    void operator()(std::byte* memory) const { device->free_pinned(memory); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace tenon
