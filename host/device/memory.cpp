#include "device/memory.hpp"

#include <sys/mman.h>

#include <limits>
#include <tenon/host/failure.hpp>

#include "device/device.hpp"
#include "io/readable_bytes.hpp"

namespace tenon {

static constexpr std::uint64_t huge_page = 2u << 20;

Memory allocate(std::uint64_t bytes) {
  // From a few huge pages on, fewer page faults and address look-ups outweigh what the last page wastes.
  const bool large = bytes >= 4 * huge_page;
  const std::uint64_t alignment = large ? huge_page : memory_alignment;
  void* memory = nullptr;
  if (bytes <= std::numeric_limits<std::uint64_t>::max() / 2) {
    const std::uint64_t whole = bytes == 0 ? memory_alignment : align_up(bytes);
    if (::posix_memalign(&memory, alignment, whole) != 0) memory = nullptr;
    if (memory != nullptr && large) ::madvise(memory, whole, MADV_HUGEPAGE);  // a wish: without huge pages it works as well
  }
  if (memory == nullptr) throw Failure(FailureKind::failed, "cannot allocate " + readable_bytes(bytes) + ": out of memory");
  return Memory(static_cast<std::byte*>(memory));
}

Failure out_of_memory(const std::string& device, const std::string& what, std::uint64_t bytes, const DeviceMemory& memory) {
  return {FailureKind::failed,
          device + " is out of memory: " + what + " needs " + readable_bytes(bytes) + ", and " + readable_bytes(memory.free) + " of " +
              readable_bytes(memory.total) + " are free",
          "use a smaller batch; the graph's plan says what it needs"};
}

}  // namespace tenon
