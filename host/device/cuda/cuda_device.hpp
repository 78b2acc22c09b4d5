// A GPU as a device.
#pragma once
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "device/cuda/memory_pool.hpp"
#include "device/cuda/staging.hpp"
#include "device/device.hpp"

namespace tenon {

/// Handles are CUDA's own and work with any copy of the runtime in this process. The pool and the
/// staging buffers are created on first use.
class CudaDevice : public Device {
 public:
  explicit CudaDevice(int id) : Device("cuda:" + std::to_string(id), TENON_CUDA, id) {}
  DeviceProperties properties() override;
  DeviceMemory memory() override;
  void synchronize() override;
  std::string lost_reason() override;
  void make_current() override;
  int current() override;
  void restore_current(int number) noexcept override;

  void* create_stream() override;
  void free_stream(void* stream) noexcept override;
  void synchronize_stream(void* stream) override;
  void* create_event() override;
  void free_event(void* event) noexcept override;
  void record(void* event, void* stream) override;
  bool is_complete(void* event) override;
  void synchronize_event(void* event) override;
  void wait(void* stream, void* event) override;
  void wait_for_application(void* stream) noexcept override;

  void begin_capture(void* stream) override;
  void* end_capture(void* stream) override;
  void drop_capture(void* stream) noexcept override;
  bool is_capturing(void* stream) override;
  void launch(void* captured, void* stream) override;
  void free_captured(void* captured) noexcept override;

  std::byte* allocate(std::uint64_t bytes, void* stream, const char* what) override;
  void free(std::byte* memory, void* stream) noexcept override;
  std::byte* allocate_pinned(std::uint64_t bytes, const char* what) override;
  void free_pinned(std::byte* memory) noexcept override;
  void copy(const DeviceAddress& to, const DeviceAddress& from, std::uint64_t bytes,
            void* stream) override;

 private:
  MemoryPool& pool();
  void copy_from_cpu(const DeviceAddress& to, const std::byte* from, std::uint64_t bytes,
                     void* stream);
  void copy_to_cpu(std::byte* to, const DeviceAddress& from, std::uint64_t bytes, void* stream);
  void copy_to_peer(const DeviceAddress& to, const DeviceAddress& from, std::uint64_t bytes,
                    void* stream);

  // shared by captures; exclusive for device-wide waits, which would break captures of any thread
  std::shared_mutex captures_;
  std::mutex mutex_;  // guards creation of the pool
  std::unique_ptr<MemoryPool> pool_;
  Stagings stagings_{*this};
};

}  // namespace tenon
