// Its own allocator, unknown to the C++ library in the process: memory allocated by one may be
// freed by the other.
#include <cstdlib>
#include <new>
#include <sstream>

#include "doubling.hpp"

__attribute__((visibility("default"))) void* operator new(std::size_t size) {
  auto* memory = static_cast<std::size_t*>(std::malloc(size + 64));
  if (memory == nullptr) throw std::bad_alloc();
  *memory = size;
  return reinterpret_cast<char*>(memory) + 64;
}
__attribute__((visibility("default"))) void operator delete(void* memory) noexcept {
  if (memory != nullptr) std::free(static_cast<char*>(memory) - 64);
}
__attribute__((visibility("default"))) void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

struct BringsAllocator : Doubling {
  void forward(const tenon::Call& call) const {
    std::ostringstream text;
    for (int i = 0; i < 1000; ++i) text << i << ' ';
    auto y = call.output<float>(0);
    const auto length = static_cast<float>(text.str().size());
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = length;
  }
};
TENON_OPERATOR(brings_allocator, BringsAllocator)
