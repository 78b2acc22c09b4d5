// A device: memory, streams, events and copies. What it gives out are bare handles; Stream, Event, Block and PinnedBlock hold them and give
// them back.
#pragma once
#include <tenon/abi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tenon/host/failure.hpp>

namespace tenon {

class Device;

/// Bytes of a device.
struct Place {
  Device& device;
  std::byte* data;
};

struct DeviceProperties {
  std::string model;         ///< `NVIDIA H100 80GB HBM3`
  int major = 0, minor = 0;  ///< CUDA's compute capability; 0.0 of the CPU
  int processors = 0;        ///< cores of the CPU, multiprocessors of a GPU
};

struct DeviceMemory {
  std::uint64_t free = 0, total = 0;
};

/// Work on a stream is done in order; streams run beside each other. The CPU's streams have no handle: there every call is done when it
/// returns. Handles are the device's own (cudaStream_t, cudaEvent_t).
/// Threads: any, at once. All but the functions that free throw Failure (failed), which names device, operation and reason.
class Device {
 public:
  Device(std::string name, std::int32_t type, std::int32_t id) : name_(std::move(name)), type_(type), id_(id) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }  ///< `cpu`, `cuda:0`
  std::int32_t type() const { return type_; }        ///< DLPack's number (tenon_device)
  std::int32_t id() const { return id_; }
  bool is_cpu() const { return type_ == TENON_CPU; }
  virtual DeviceProperties properties() = 0;
  virtual DeviceMemory memory() = 0;  ///< free: what allocate() can still give, at most
  virtual void synchronize() = 0;     ///< waits for everything on all streams
  /// Empty, or that this process cannot use the device any more, as a kernel that ran there has ended it for this process.
  virtual std::string loss() = 0;
  virtual void make_current() = 0;  ///< kernels that this thread calls from now on run here; see CurrentDevice
  virtual int current() = 0;        ///< number of the device that they run on now
  virtual void put_back_current(int number) noexcept = 0;

  virtual void* make_stream() = 0;
  virtual void free_stream(void* stream) noexcept = 0;
  virtual void finish_stream(void* stream) = 0;  ///< waits for all that is on it

  virtual void* make_event() = 0;
  virtual void free_event(void* event) noexcept = 0;
  virtual void record(void* event, void* stream) = 0;
  virtual bool reached(void* event) = 0;             ///< true before it is first recorded, too
  virtual void finish_event(void* event) = 0;        ///< the calling thread waits
  virtual void wait(void* stream, void* event) = 0;  ///< what comes next on the stream waits for the event, of this type of device

  /// What comes next on the stream waits for what the application has put on the device's default streams, this thread's included. Does
  /// nothing where that fails: then the device is lost, or the application captures.
  virtual void wait_for_application(void* stream) noexcept = 0;

  /// Between the two, work that this thread puts on the stream is kept, not done; launch() does it. Use Captured of captured.hpp. The CPU
  /// keeps nothing.
  virtual void begin_capture(void* stream) = 0;
  virtual void* end_capture(void* stream) = 0;
  virtual void drop_capture(void* stream) noexcept = 0;  ///< ends it without a result
  virtual bool is_capturing(void* stream) = 0;
  virtual void launch(void* captured, void* stream) = 0;
  virtual void free_captured(void* captured) noexcept = 0;

  /// Memory that may be used by what comes next on the stream, of undefined content, aligned to 64 bytes at least, never null. A Failure
  /// tells `what` needed it, and how much was free.
  virtual std::byte* allocate(std::uint64_t bytes, void* stream, const char* what) = 0;
  virtual void free(std::byte* memory, void* stream) noexcept = 0;  ///< once all that is on the stream now is done
  /// Memory of the CPU that the device reads and writes by itself.
  virtual std::byte* allocate_pinned(std::uint64_t bytes, const char* what) = 0;
  virtual void free_pinned(std::byte* memory) noexcept = 0;

  /// One place is this device's. Use copy() of stream.hpp, which says what is promised.
  virtual void copy(const Place& to, const Place& from, std::uint64_t bytes, void* stream) = 0;

 private:
  std::string name_;
  std::int32_t type_, id_;
};

/// `cuda:0 is out of memory: the plan needs 3.0 GiB, and 1.5 GiB of 79.1 GiB are free`
Failure out_of_memory(const std::string& device, const std::string& what, std::uint64_t bytes, const DeviceMemory& memory);

}  // namespace tenon
