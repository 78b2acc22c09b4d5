#include "device/cpu_device.hpp"

#include <cstring>
#include <fstream>
#include <thread>

#include "device/device.hpp"
#include "device/memory.hpp"

namespace tenon {
namespace {

// Returns the text after `key` and its colon in a file of /proc; empty if there is none.
std::string value_in(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

std::uint64_t meminfo(const std::string& key) {
  return std::strtoull(value_in("/proc/meminfo", key).c_str(), nullptr, 10) * 1024;
}

}  // namespace

DeviceProperties CpuDevice::properties() {
  auto model = value_in("/proc/cpuinfo", "model name");
  if (model.empty()) model = "CPU";  // not reported on every architecture
  return {std::move(model), 0, 0, static_cast<int>(std::thread::hardware_concurrency())};
}

DeviceMemory CpuDevice::memory() {
  return {meminfo("MemAvailable"), meminfo("MemTotal")};
}

void CpuDevice::begin_capture(void*) {
  throw Failure(FailureKind::usage, "work on the CPU cannot be captured: it runs immediately");
}

std::byte* CpuDevice::allocate(std::uint64_t bytes, void*, const char* what) {
  try {
    return tenon::allocate(bytes).release();
  } catch (const Failure&) {
    throw out_of_memory(name(), what, bytes, memory());
  }
}

void CpuDevice::free(std::byte* memory, void*) noexcept {
  FreeMemory()(memory);
}

void CpuDevice::copy(const DeviceAddress& to, const DeviceAddress& from, std::uint64_t bytes,
                     void*) {
  std::memcpy(to.data, from.data, bytes);
}

}  // namespace tenon
