#include "on_device.hpp"

#include <cstdio>
#include <cstdlib>
#include <tenon/error.hpp>
#include <tenon/host/failure.hpp>

#include "device/devices.hpp"
#include "device/fault.hpp"
#include "device/stream.hpp"
#include "tensor/tensor_device.hpp"

using tenon::Block, tenon::Device, tenon::Stream;

// ctest treats exit code 77 as a skipped test.
static Device& device_or_skip(const char* name) try {
  return tenon::find_device(name);
} catch (const tenon::Failure& failure) {
  std::printf("skipped: %s\n", failure.what());
  std::fflush(stdout);
  std::_Exit(77);
}

Device* test_device() {
  static Device* const found = [] {
    const char* name = std::getenv("TENON_TEST_DEVICE");
    return name == nullptr || std::string(name) == "cpu" ? nullptr : &device_or_skip(name);
  }();
  return found;
}

OnDevice::OnDevice(Device& device)
    : stream_(tenon::tensor_stream(device)),
      fault_(stream_, sizeof(tenon_fault), "a test's fault") {
  device.make_current();
  const tenon_fault none{};
  copy_there(fault_, &none, sizeof none);
}

void OnDevice::copy_there(const Block& to, const void* from, std::size_t bytes) const {
  copy(to.address(), {tenon::cpu_device(), static_cast<std::byte*>(const_cast<void*>(from))}, bytes,
       stream_);
}

void OnDevice::copy_here(void* to, const Block& from, std::size_t bytes) const {
  copy({tenon::cpu_device(), static_cast<std::byte*>(to)}, from.address(), bytes, stream_);
}

void* OnDevice::bring(Array& array) {
  for (const auto& [known, block] : brought_)
    if (known == &array) return block->data() + Array::margin;
  const auto whole = array.with_margins();
  brought_.push_back({&array, std::make_unique<Block>(stream_, whole.size(), "a test's tensor")});
  copy_there(*brought_.back().block, whole.data(), whole.size());
  return brought_.back().block->data() + Array::margin;
}

void* OnDevice::scratch(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  scratch_ = std::make_unique<Block>(stream_, bytes, "a test's workspace");
  return scratch_->data();
}

void OnDevice::bring_back() {
  for (const auto& [array, block] : brought_)
    copy_here(array->with_margins().data(), *block, array->with_margins().size());
  tenon_fault found{};
  copy_here(&found, fault_, sizeof found);
  if (const auto text = tenon::fault_text(found); !text.empty()) throw tenon::Error(text);
}
