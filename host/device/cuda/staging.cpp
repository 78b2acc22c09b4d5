#include "device/cuda/staging.hpp"

#include <algorithm>
#include <cstring>

#include "device/cuda/failure.hpp"

namespace tenon {

static std::uint64_t chunk_size(std::uint64_t bytes, std::uint64_t offset) {
  return std::min(Staging::buffer_bytes, bytes - offset);
}

void Staging::to_device(const DeviceAddress& to, const std::byte* from, std::uint64_t bytes,
                        void* stream) {
  for (std::uint64_t offset = 0; offset < bytes; offset += buffer_bytes) {
    Buffer& buffer = at(offset);
    const auto chunk = chunk_size(bytes, offset);
    buffer.used.synchronize();
    std::memcpy(buffer.memory.data(), from + offset, chunk);
    check(cudaMemcpyAsync(to.data + offset, buffer.memory.data(), chunk, cudaMemcpyHostToDevice,
                          static_cast<cudaStream_t>(stream)),
          to.device, "copying from the CPU");
    to.device.record(buffer.used.handle(), stream);
  }
}

// Starts copying one chunk to its buffer.
void Staging::fetch(const DeviceAddress& from, std::uint64_t offset, std::uint64_t bytes,
                    void* stream) {
  Buffer& buffer = at(offset);
  buffer.used.synchronize();  // another stream's copy may still read it
  check(cudaMemcpyAsync(buffer.memory.data(), from.data + offset, bytes, cudaMemcpyDeviceToHost,
                        static_cast<cudaStream_t>(stream)),
        from.device, "copying to the CPU");
  from.device.record(buffer.used.handle(), stream);
}

void Staging::from_device(std::byte* to, const DeviceAddress& from, std::uint64_t bytes,
                          void* stream) {
  fetch(from, 0, chunk_size(bytes, 0), stream);
  for (std::uint64_t offset = 0; offset < bytes; offset += buffer_bytes) {
    const auto next = offset + buffer_bytes;
    if (next < bytes) fetch(from, next, chunk_size(bytes, next), stream);
    at(offset).used.synchronize();
    std::memcpy(to + offset, at(offset).memory.data(), chunk_size(bytes, offset));
  }
}

std::unique_ptr<Staging> Stagings::acquire() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [this] { return !idle_.empty() || created_ < max_stagings; });
  if (idle_.empty()) {
    auto created = std::make_unique<Staging>(device_);
    ++created_;
    return created;
  }
  auto staging = std::move(idle_.back());
  idle_.pop_back();
  return staging;
}

void Stagings::release(std::unique_ptr<Staging> staging) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(staging));
  }
  returned_.notify_one();
}

}  // namespace tenon
