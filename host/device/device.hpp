// The device interface: memory, streams, events and copies. It returns raw handles; Stream, Event,
// Block and PinnedBlock own them.
#pragma once
#include <tenon/abi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tenon/host/failure.hpp>

namespace tenon {

class Device;

/// An address on a device.
struct DeviceAddress {
  Device& device;
  std::byte* data;
};

struct DeviceProperties {
  std::string model;         ///< `NVIDIA H100 80GB HBM3`
  int major = 0, minor = 0;  ///< CUDA compute capability; 0.0 for the CPU
  int processors = 0;        ///< CPU cores, or multiprocessors of a GPU
};

struct DeviceMemory {
  std::uint64_t free = 0, total = 0;
};

/// Work on a stream runs in order; streams run concurrently. CPU streams have no handle: every call
/// is complete when it returns. Handles are the device's own (cudaStream_t, cudaEvent_t).
/// Thread-safe. All functions except those that free throw Failure (failed) that names device,
/// operation and reason.
class Device {
 public:
  Device(std::string name, std::int32_t type, std::int32_t id)
      : name_(std::move(name)), type_(type), id_(id) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }  ///< `cpu`, `cuda:0`
  std::int32_t type() const { return type_; }        ///< DLPack's number (tenon_device)
  std::int32_t id() const { return id_; }
  bool is_cpu() const { return type_ == TENON_CPU; }
  virtual DeviceProperties properties() = 0;
  virtual DeviceMemory memory() = 0;  ///< free: upper bound of what allocate() can still provide
  virtual void synchronize() = 0;     ///< waits for all streams
  /// Returns empty, or that this process cannot use the device any more, as after a kernel fault.
  virtual std::string lost_reason() = 0;
  virtual void
  make_current() = 0;  ///< for kernels that this thread launches from now on; see CurrentDevice
  virtual int current() = 0;  ///< number of this thread's current device
  virtual void restore_current(int number) noexcept = 0;

  virtual void* create_stream() = 0;
  virtual void free_stream(void* stream) noexcept = 0;
  virtual void synchronize_stream(void* stream) = 0;  ///< waits for all work on the stream

  virtual void* create_event() = 0;
  virtual void free_event(void* event) noexcept = 0;
  virtual void record(void* event, void* stream) = 0;
  virtual bool is_complete(void* event) = 0;        ///< also true before the first record()
  virtual void synchronize_event(void* event) = 0;  ///< blocks the calling thread
  /// later work on the stream waits for the event, which is of this type of device
  virtual void wait(void* stream, void* event) = 0;

  /// Makes later work on the stream wait for the work that the application has put on the device's
  /// default streams, including this thread's. Does nothing on failure: then the device is lost, or
  /// the application is capturing.
  virtual void wait_for_application(void* stream) noexcept = 0;

  /// Between begin_capture() and end_capture(), work that this thread submits to the stream is
  /// recorded, not executed; launch() executes it. Use CapturedGraph of captured_graph.hpp. Not
  /// supported by the CPU.
  virtual void begin_capture(void* stream) = 0;
  virtual void* end_capture(void* stream) = 0;
  virtual void drop_capture(void* stream) noexcept = 0;  ///< ends the capture without a result
  virtual bool is_capturing(void* stream) = 0;
  virtual void launch(void* captured, void* stream) = 0;
  virtual void free_captured(void* captured) noexcept = 0;

  /// Returns memory for later work on the stream: uninitialized, aligned to at least 64 bytes,
  /// never null. The Failure names `what` needs it and how much was free.
  virtual std::byte* allocate(std::uint64_t bytes, void* stream, const char* what) = 0;
  /// when all work submitted to the stream so far is done
  virtual void free(std::byte* memory, void* stream) noexcept = 0;
  /// Page-locked CPU memory that the device accesses directly.
  virtual std::byte* allocate_pinned(std::uint64_t bytes, const char* what) = 0;
  virtual void free_pinned(std::byte* memory) noexcept = 0;

  /// One of the two is on this device. Use copy() of stream.hpp, which documents the guarantees.
  virtual void copy(const DeviceAddress& to, const DeviceAddress& from, std::uint64_t bytes,
                    void* stream) = 0;

 private:
  std::string name_;
  std::int32_t type_, id_;
};

/// `cuda:0 is out of memory: the plan needs 3.0 GiB, and 1.5 GiB of 79.1 GiB are free`
Failure out_of_memory(const std::string& device, const std::string& what, std::uint64_t bytes,
                      const DeviceMemory& memory);

/// Makes a device current for this thread until the end of the scope, then restores the previous
/// one: the thread is the application's, and other code in it relies on its own current device.
class CurrentDevice {
 public:
  /// Does nothing for null or the CPU. Throws Failure.
  explicit CurrentDevice(Device* device)
      : device_(device == nullptr || device->is_cpu() ? nullptr : device) {
    if (device_ == nullptr) return;
    before_ = device_->current();
    if (before_ != device_->id()) device_->make_current();
  }
  explicit CurrentDevice(Device& device) : CurrentDevice(&device) {}
  ~CurrentDevice() {
    if (device_ != nullptr) device_->restore_current(before_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  Device* device_;
  int before_ = 0;
};

}  // namespace tenon
