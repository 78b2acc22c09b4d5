// malloc() and related functions whose cost depends only on the size. glibc's cost depends on
// addresses and free memory nearby, and thus on the lengths of paths; counts would differ by 5 %
// between build folders. Freed memory is reused for the next block of its size class.
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

constexpr std::size_t line = 64, classes = 48;

/// Precedes each block, one cache line wide.
struct alignas(line) Header {
  std::size_t size;  // of the block
  std::size_t kind;  // its size class; `classes`: a mapping of its own
  Header* next;      // the next free block of its class
};
static_assert(sizeof(Header) == line);

std::atomic_flag busy;
Header* unused[classes];
std::byte *fresh, *end;

void* from_system(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

Header* new_block(std::size_t bytes) {
  if (static_cast<std::size_t>(end - fresh) < bytes) {
    const auto chunk = bytes > std::size_t{1} << 28 ? bytes : std::size_t{1} << 28;
    fresh = static_cast<std::byte*>(from_system(chunk));
    end = fresh ? fresh + chunk : nullptr;
    if (!fresh) return nullptr;
  }
  auto* made = reinterpret_cast<Header*>(fresh);
  fresh += bytes;
  return made;
}

Header* header_of(void* block) {
  return static_cast<Header*>(block) - 1;
}

void* allocate(std::size_t bytes) {
  const auto size = std::bit_ceil(bytes < line ? line : bytes);
  const auto kind = static_cast<std::size_t>(std::countr_zero(size));
  if (bytes > std::size_t{1} << 40) return errno = ENOMEM, nullptr;
  while (busy.test_and_set(std::memory_order_acquire)) {
  }
  Header* header = unused[kind];
  if (header)
    unused[kind] = header->next;
  else
    header = new_block(size + line);
  busy.clear(std::memory_order_release);
  if (!header) return errno = ENOMEM, nullptr;
  header->size = size;
  header->kind = kind;
  return header + 1;
}

/// Alignments above a cache line get a mapping of their own.
void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
  if (alignment <= line) return allocate(bytes);
  auto* memory = static_cast<std::byte*>(from_system(bytes + alignment + line));
  if (!memory) return errno = ENOMEM, nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(memory + line);
  auto* header = header_of(memory + line + (alignment - address % alignment) % alignment);
  header->size = bytes;
  header->kind = classes;
  return header + 1;
}

}  // namespace

extern "C" {
void* malloc(std::size_t bytes) noexcept {
  return allocate(bytes);
}
void free(void* block) noexcept {
  if (!block) return;
  auto* header = header_of(block);
  if (header->kind == classes) return;  // few blocks, which last for the whole run
  while (busy.test_and_set(std::memory_order_acquire)) {
  }
  header->next = unused[header->kind];
  unused[header->kind] = header;
  busy.clear(std::memory_order_release);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return errno = ENOMEM, nullptr;
  void* block = allocate(bytes);
  return block ? std::memset(block, 0, bytes) : nullptr;
}
void* realloc(void* block, std::size_t bytes) noexcept {
  if (block && header_of(block)->size >= bytes) return block;
  void* made = allocate(bytes);
  if (made && block) std::memcpy(made, block, header_of(block)->size), free(block);
  return made;
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate_aligned(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate_aligned(alignment, bytes);
}
void* valloc(std::size_t bytes) noexcept {
  return allocate_aligned(4096, bytes);
}
void* pvalloc(std::size_t bytes) noexcept {
  return allocate_aligned(4096, (bytes + 4095) / 4096 * 4096);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  *block = allocate_aligned(alignment, bytes);
  return *block ? 0 : ENOMEM;
}
std::size_t malloc_usable_size(void* block) noexcept {
  return block ? header_of(block)->size : 0;
}
}
