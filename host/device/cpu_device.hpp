// The CPU as a device.
#pragma once
#include "device/device.hpp"

namespace tenon {

/// Streams and events are no-ops: every call is complete when it returns.
class CpuDevice : public Device {
 public:
  CpuDevice() : Device("cpu", TENON_CPU, 0) {}
  DeviceProperties properties() override;
  DeviceMemory memory() override;  ///< free: available without swapping
  void synchronize() override {}
  void make_current() override {}
  int current() override { return 0; }
  void restore_current(int) noexcept override {}

  void* create_stream() override { return nullptr; }
  void free_stream(void*) noexcept override {}
  void synchronize_stream(void*) override {}
  void* create_event() override { return nullptr; }
  void free_event(void*) noexcept override {}
  void record(void*, void*) override {}
  bool is_complete(void*) override { return true; }
  void synchronize_event(void*) override {}
  std::string lost_reason() override { return {}; }
  void wait(void*, void*) override {}
  void wait_for_application(void*) noexcept override {}

  void begin_capture(void*) override;  ///< throws Failure (usage)
  void* end_capture(void*) override { return nullptr; }
  void drop_capture(void*) noexcept override {}
  bool is_capturing(void*) override { return false; }
  void launch(void*, void*) override {}
  void free_captured(void*) noexcept override {}

  std::byte* allocate(std::uint64_t bytes, void* stream, const char* what) override;
  void free(std::byte* memory, void* stream) noexcept override;
  std::byte* allocate_pinned(std::uint64_t bytes, const char* what) override {
    return allocate(bytes, nullptr, what);
  }
  void free_pinned(std::byte* memory) noexcept override { free(memory, nullptr); }
  void copy(const DeviceAddress& to, const DeviceAddress& from, std::uint64_t bytes,
            void* stream) override;
};

}  // namespace tenon
