// A device that only records the calls it receives.
#pragma once
#include <string>

#include "device/device.hpp"

class RecordingDevice : public tenon::Device {
 public:
  explicit RecordingDevice(int id) : Device("cuda:" + std::to_string(id), TENON_CUDA, id) {}
  std::string log;

  tenon::DeviceProperties properties() override { return {}; }
  tenon::DeviceMemory memory() override { return {}; }
  void synchronize() override { add("synchronize"); }
  std::string lost_reason() override { return {}; }
  void make_current() override { add("make current"); }
  int current() override { return 0; }
  void restore_current(int) noexcept override { add("put back"); }

  void* create_stream() override { return next(); }
  void free_stream(void* stream) noexcept override { add("free stream", stream); }
  void synchronize_stream(void* stream) override { add("finish stream", stream); }
  void* create_event() override { return next(); }
  void free_event(void* event) noexcept override { add("free event", event); }
  void record(void* event, void* stream) override { add("record", event), add("on", stream); }
  bool is_complete(void*) override { return false; }
  void synchronize_event(void* event) override { add("finish event", event); }
  void wait(void* stream, void* event) override { add("let", stream), add("wait for", event); }
  void wait_for_application(void* stream) noexcept override {
    add("let", stream), add("wait for the application");
  }
  void begin_capture(void* stream) override { add("capture on", stream); }
  void* end_capture(void* stream) override { return add("end capture on", stream), next(); }
  void drop_capture(void* stream) noexcept override { add("drop capture on", stream); }
  bool is_capturing(void*) override { return false; }
  void launch(void* captured, void* stream) override { add("launch", captured), add("on", stream); }
  void free_captured(void* captured) noexcept override { add("free captured", captured); }

  std::byte* allocate(std::uint64_t, void* stream, const char*) override {
    return add("allocate on", stream), memory_;
  }
  void free(std::byte*, void* stream) noexcept override { add("free on", stream); }
  std::byte* allocate_pinned(std::uint64_t, const char*) override { return add("pin"), memory_; }
  void free_pinned(std::byte*) noexcept override { add("unpin"); }
  void copy(const tenon::DeviceAddress& to, const tenon::DeviceAddress& from, std::uint64_t,
            void* stream) override {
    add(from.device.name() + " to " + to.device.name() + " on", stream);
  }

 private:
  void add(const std::string& what) { log += (log.empty() ? "" : ", ") + what; }
  // Handles are numbers in the order in which they were created.
  void add(const std::string& what, void* handle) {
    add(what + " " + std::to_string(static_cast<std::byte*>(handle) - handles_));
  }
  void* next() { return handles_ + ++made_; }

  std::byte handles_[16] = {}, memory_[64] = {};
  int made_ = 0;
};
