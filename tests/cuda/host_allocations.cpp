#include "host_allocations.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr int max_frames = 32;
thread_local bool counting = false;
thread_local std::uint64_t counted = 0;

// Whether libcuda.so.1 or libtenon_simulated_cuda.so allocates.
bool asked_by_cuda() {
  void* frames[max_frames];
  const int count = backtrace(frames, max_frames);
  for (int i = 0; i < count; ++i) {
    Dl_info found{};
    if (dladdr(frames[i], &found) == 0 || found.dli_fname == nullptr) continue;
    if (std::strstr(found.dli_fname, "/libcuda") != nullptr ||
        std::strstr(found.dli_fname, "simulated_cuda") != nullptr)
      return true;
  }
  return false;
}

void note() {
  if (!counting) return;
  counting = false;  // allocations of the check itself are not counted
  if (!asked_by_cuda()) ++counted;
  counting = true;
}

void* take(std::size_t bytes, std::size_t alignment) {
  note();
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, bytes == 0 ? alignment : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

HostAllocations::HostAllocations() {
  asked_by_cuda();  // the first backtrace loads its libraries
  counted = 0;
  counting = true;
}
HostAllocations::~HostAllocations() {
  counting = false;
}
std::uint64_t HostAllocations::count() const {
  return counted;
}

void* operator new(std::size_t bytes) {
  return take(bytes, alignof(std::max_align_t));
}
void* operator new[](std::size_t bytes) {
  return take(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return take(bytes, alignof(std::max_align_t));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes, const std::nothrow_t& nothrow) noexcept {
  return operator new(bytes, nothrow);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
