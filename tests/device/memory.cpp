#include "device/memory.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "failure_of.hpp"
#include "io/counted.hpp"

using namespace tenon;

TEST_CASE("memory: blocks of any size are aligned and writable to the last byte") {
  for (const std::uint64_t bytes :
       {0, 1, 63, 64, 65, 4096, 1 << 20, (8 << 20) - 1, 8 << 20, (9 << 20) + 1}) {
    CAPTURE(bytes);
    const Memory memory = allocate(bytes);
    REQUIRE(memory != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % 64 == 0);
    std::memset(memory.get(), 1, bytes);
  }
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("memory: a freed large block is reused for the same or a slightly smaller size") {
  free_cached_blocks();
  constexpr std::uint64_t size = 16 << 20;
  const std::byte* const first = allocate(size).get();
  const Memory much_less = allocate(size / 2), more = allocate(2 * size);
  CHECK(much_less.get() != first);
  CHECK(more.get() != first);
  const Memory again = allocate(size - 4096);
  CHECK(again.get() == first);
  std::memset(again.get(), 1, size - 4096);
}

TEST_CASE("memory: caches only a few large blocks, and none after free_cached_blocks()") {
  constexpr std::uint64_t size = std::uint64_t{40}
                                 << 20;  // above the C library's mmap threshold: each is a mapping
  std::vector<Memory> blocks;
  std::vector<std::byte*> places;
  for (int i = 0; i < 8; ++i) places.push_back(blocks.emplace_back(allocate(size)).get());
  const auto mapped = [&] {
    return std::count_if(places.begin(), places.end(),
                         [](void* at) { return ::msync(at, 1, MS_ASYNC) == 0; });
  };
  CHECK(mapped() == 8);
  blocks.clear();
  CHECK(mapped() == 3);
  free_cached_blocks();
  CHECK(mapped() == 0);
}
#endif

TEST_CASE("memory: pages of any size are aligned and returned to the system") {
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{1} << 20, std::uint64_t{9} << 20}) {
    const std::byte* at = nullptr;
    {
      const Pages pages(bytes, "the test");
      at = pages.data();
      CHECK(pages.bytes() >= bytes);
      CHECK(reinterpret_cast<std::uintptr_t>(at) % 64 == 0);
      std::memset(pages.data(), 1, bytes);
    }
#if !defined(__SANITIZE_ADDRESS__)
    if (bytes >= std::uint64_t{1} << 20)
      CHECK(::msync(const_cast<std::byte*>(at), 1, MS_ASYNC) != 0);
#endif
  }
  const auto failure = failure_of([] { Pages(UINT64_MAX, "the test"); });
  CHECK(failure.message.starts_with("cpu is out of memory: the test needs 15.9 EiB, and "));
  CHECK(failure_of([] { Pages(std::uint64_t{1} << 60, "the test"); }).kind == 1);
}

TEST_CASE("memory: a failed allocation reports its size") {
  CHECK(failure_of([] { allocate(UINT64_MAX); }).message ==
        "cannot allocate 15.9 EiB: out of memory");
  const FailureText failure = failure_of([] { allocate(std::uint64_t{1} << 60); });
  CHECK(failure.kind == 1);
  CHECK(failure.message == "cannot allocate 1.0 EiB: out of memory");
}

TEST_CASE("memory: sizes are rounded up to cache lines") {
  const std::uint64_t cases[][2] = {{0, 0},    {1, 64},
                                    {63, 64},  {64, 64},
                                    {65, 128}, {std::uint64_t{1} << 63, std::uint64_t{1} << 63}};
  for (const auto& [bytes, aligned] : cases) CHECK(align_up(bytes) == aligned);
}

TEST_CASE("memory: readable sizes in bytes") {
  const struct {
    std::uint64_t bytes;
    const char* text;
  } cases[] = {
      {0, "0 B"},
      {1023, "1023 B"},
      {1024, "1.0 KiB"},
      {1536, "1.5 KiB"},
      {1048575, "1023.9 KiB"},
      {1048576, "1.0 MiB"},
      {std::uint64_t{5} << 30, "5.0 GiB"},
      {UINT64_MAX, "15.9 EiB"},
  };
  for (const auto& test : cases) CHECK(readable_bytes(test.bytes) == test.text);
}
