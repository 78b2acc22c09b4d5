// Calls of the plugin tests on a GPU: TENON_TEST_DEVICE=cuda runs every operator with a CUDA kernel
// there, the others on the CPU.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "array.hpp"
#include "device/block.hpp"

/// Returns the device to test; null if the tests run on the CPU. If there is no such device, the
/// program exits with the reason (exit code 77).
tenon::Device* test_device();

/// The memory of one call on a device: copies of arrays with their margins, which are copied back
/// after the call.
class OnDevice {
 public:
  explicit OnDevice(tenon::Device& device);

  /// The array's elements on the device. An array that is brought twice is copied once.
  void* bring(Array& array);
  void* scratch(std::size_t bytes);
  tenon_fault* fault() { return reinterpret_cast<tenon_fault*>(fault_.data()); }
  void* stream() const { return stream_.handle(); }

  /// Waits for the call. Throws tenon::Error with the kernels' errors.
  void bring_back();

 private:
  struct Brought {
    Array* array;
    std::unique_ptr<tenon::Block> block;
  };
  void copy_there(const tenon::Block& to, const void* from, std::size_t bytes) const;
  void copy_here(void* to, const tenon::Block& from, std::size_t bytes) const;

  const tenon::Stream& stream_;
  std::vector<Brought> brought_;
  std::unique_ptr<tenon::Block> scratch_;
  tenon::Block fault_;
};
