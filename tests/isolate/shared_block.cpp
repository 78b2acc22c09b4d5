// Memory mapped by host and worker.
#include "isolate/shared_block.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "isolate/mapping.hpp"

using namespace tenon;
using namespace tenon::isolate;

namespace {

std::ptrdiff_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

bool may_be_huge(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % huge_page == 0;
}

}  // namespace

TEST_CASE(
    "shared block: both sides see the same memory, and large blocks are aligned to huge pages") {
  for (const std::uint64_t bytes : {std::uint64_t{1}, min_huge_page_bytes - 1, min_huge_page_bytes,
                                    min_huge_page_bytes + huge_page + 1}) {
    CAPTURE(bytes);
    const auto before = mappings();
    {
      const SharedBlock block(bytes, SharedBlock::Access::read, "the test");
      CHECK(mappings() == before + 1);
      const auto file = block.open_for_reading();
      auto* const theirs =
          static_cast<std::byte*>(map_shared(file.descriptor(), block.bytes(), PROT_READ));
      REQUIRE(theirs != MAP_FAILED);
      CHECK(mappings() == before + 2);
      CHECK(std::all_of(theirs, theirs + block.bytes(),
                        [](std::byte byte) { return byte == std::byte{}; }));
      for (const auto at : {std::uint64_t{0}, bytes - 1, block.bytes() - 1}) {
        block.data()[at] = std::byte{7};
        CHECK(theirs[at] == std::byte{7});
      }
      if (block.bytes() >= min_huge_page_bytes)
        CHECK((may_be_huge(block.data()) && may_be_huge(theirs)));
      CHECK(map_shared(file.descriptor(), block.bytes(), PROT_READ | PROT_WRITE) == MAP_FAILED);
      munmap(theirs, block.bytes());
    }
    CHECK(mappings() == before);
  }
}
