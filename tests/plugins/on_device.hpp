// Calls of the plugin tests on a GPU: TENON_TEST_DEVICE=cuda runs every operator there that has a kernel for it, the others on the CPU.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "array.hpp"
#include "device/block.hpp"

/// Null: the tests are to run on the CPU. Where there is no such device the program ends and says why (exit code 77).
tenon::Device* test_device();

/// The memory of one call on a device: copies of arrays with what is around them, which are brought back after the call.
class OnDevice {
 public:
  explicit OnDevice(tenon::Device& device);

  /// Its elements there. An array that comes twice is there once.
  void* bring(Array& array);
  void* scratch(std::size_t bytes);
  tenon_fault* fault() { return reinterpret_cast<tenon_fault*>(fault_.data()); }
  void* stream() const { return stream_.handle(); }

  /// Waits for the call. Throws tenon::Error with what its kernels found.
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
