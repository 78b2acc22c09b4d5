#include "device/cuda/staging.hpp"

#include <algorithm>
#include <cstring>

#include "device/cuda/failure.hpp"

namespace tenon {

static std::uint64_t part_of(std::uint64_t bytes, std::uint64_t offset) {
  return std::min(Staging::buffer_bytes, bytes - offset);
}

void Staging::to_device(const Place& to, const std::byte* from, std::uint64_t bytes, void* stream) {
  for (std::uint64_t offset = 0; offset < bytes; offset += buffer_bytes) {
    Buffer& buffer = at(offset);
    const auto part = part_of(bytes, offset);
    buffer.used.synchronize();
    std::memcpy(buffer.memory.data(), from + offset, part);
    check(cudaMemcpyAsync(to.data + offset, buffer.memory.data(), part, cudaMemcpyHostToDevice,
                          static_cast<cudaStream_t>(stream)),
          to.device, "copying from the CPU");
    to.device.record(buffer.used.handle(), stream);
  }
}

// Starts copying one chunk to its buffer.
void Staging::fetch(const Place& from, std::uint64_t offset, std::uint64_t bytes, void* stream) {
  Buffer& buffer = at(offset);
  buffer.used.synchronize();  // another stream's copy may still read it
  check(cudaMemcpyAsync(buffer.memory.data(), from.data + offset, bytes, cudaMemcpyDeviceToHost,
                        static_cast<cudaStream_t>(stream)),
        from.device, "copying to the CPU");
  from.device.record(buffer.used.handle(), stream);
}

void Staging::from_device(std::byte* to, const Place& from, std::uint64_t bytes, void* stream) {
  fetch(from, 0, part_of(bytes, 0), stream);
  for (std::uint64_t offset = 0; offset < bytes; offset += buffer_bytes) {
    const auto next = offset + buffer_bytes;
    if (next < bytes) fetch(from, next, part_of(bytes, next), stream);
    at(offset).used.synchronize();
    std::memcpy(to + offset, at(offset).memory.data(), part_of(bytes, offset));
  }
}

std::unique_ptr<Staging> Stagings::take() {
  std::unique_lock lock(mutex_);
  given_.wait(lock, [this] { return !idle_.empty() || made_ < most; });
  if (idle_.empty()) {
    auto made = std::make_unique<Staging>(device_);
    ++made_;
    return made;
  }
  auto staging = std::move(idle_.back());
  idle_.pop_back();
  return staging;
}

void Stagings::give(std::unique_ptr<Staging> staging) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(staging));
  }
  given_.notify_one();
}

}  // namespace tenon
