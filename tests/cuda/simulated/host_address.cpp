#include "host_address.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "memory.hpp"
#include "state.hpp"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace simulated {
namespace {

struct Stack {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

Stack stack_of_this_thread() {
  Stack stack;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
  void* begin = nullptr;
  pthread_attr_getstack(&attributes, &begin, &stack.bytes);
  pthread_attr_destroy(&attributes);
  stack.begin = reinterpret_cast<std::uintptr_t>(begin);
  return stack;
}

bool in_heap([[maybe_unused]] const void* address) {
#if defined(__SANITIZE_ADDRESS__)
  // Words that are not addresses make AddressSanitizer search every global; its heap is above this
  // limit.
  const auto word = reinterpret_cast<std::uintptr_t>(address);
  if (word >> 40 == 0) return false;
  // A small int with padding that g++ 12 takes for a member after an array of classes; no heap
  // block starts there.
  if (static_cast<std::uint32_t>(word) < 16) return false;
  char name[1];
  void* region = nullptr;
  std::size_t bytes = 0;
  return __asan_locate_address(const_cast<void*>(address), name, sizeof name, &region, &bytes) ==
         std::string_view("heap");
#else
  return false;
#endif
}

// Returns null if the word is not an address, as far as can be detected.
const char* kind_of(std::uintptr_t word) {
  static thread_local const Stack stack = stack_of_this_thread();
  constexpr std::uintptr_t least = 1 << 16, most = std::uintptr_t{1} << 47;
  if (word < least || word >= most) return nullptr;
  if (word - stack.begin < stack.bytes) return "stack";
  const void* address = reinterpret_cast<const void*>(word);
  for (int device = 0; device < max_devices; ++device)
    if (on_device(address, 0, device)) return nullptr;
  if (is_pinned(address, 0)) return nullptr;
  Dl_info found;
  if (dladdr(address, &found) != 0) return "code or static data";
  return in_heap(address) ? "heap" : nullptr;
}

}  // namespace

std::string host_address_in(const SimulatedLaunch& launch) {
  if (launch.clear_padding == nullptr) return {};
  // 255 where a member is, 0 in padding
  std::vector<std::max_align_t> members(launch.bytes / sizeof(std::max_align_t) + 1);
  std::memset(members.data(), 255, launch.bytes);
  launch.clear_padding(members.data());
  const auto word_at = [](const void* bytes, std::size_t at) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(bytes) + at, sizeof word);
    return word;
  };
  for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= launch.bytes;
       at += sizeof(std::uintptr_t)) {
    const char* kind =
        word_at(members.data(), at) == UINTPTR_MAX ? kind_of(word_at(launch.body, at)) : nullptr;
    if (kind == nullptr) continue;
    return "byte " + std::to_string(at) + " of a kernel's body of " + std::to_string(launch.bytes) +
           " is an address of the CPU's " + kind + ", which a GPU cannot access";
  }
  return {};
}

}  // namespace simulated
