#include "isolate/shared_block.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <tenon/host/failure.hpp>

#include "io/counted.hpp"
#include "io/memory_file.hpp"
#include "io/system_reason.hpp"
#include "isolate/mapping.hpp"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace tenon {
namespace {

[[noreturn]] void refuse(const char* what, std::uint64_t bytes) {
  throw Failure(FailureKind::failed, std::string("cannot share ") + readable_bytes(bytes) +
                                         " with a worker process, for " + what + ": " +
                                         system_reason(errno));
}

std::uint64_t whole_pages(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes == 0 ? page : (bytes + page - 1) / page * page;
}

OpenFile opened_for_reading(int descriptor) {
  const auto path = "/proc/self/fd/" + std::to_string(descriptor);
  return OpenFile(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

/// Without the seal, a receiver of the descriptor could reopen it for writing; kernels before 5.1
/// lack the seal.
void seal(OpenFile& file, SharedBlock::Access access, std::uint64_t bytes) {
  constexpr int size = F_SEAL_SHRINK | F_SEAL_GROW;
  if (access == SharedBlock::Access::write) {
    if (!seal_memory_file(file.descriptor(), size | F_SEAL_SEAL)) refuse("sealing", bytes);
    return;
  }
  const bool sealed = seal_memory_file(file.descriptor(), size | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
  if (!sealed && !seal_memory_file(file.descriptor(), size | F_SEAL_SEAL)) refuse("sealing", bytes);
  OpenFile to_read = opened_for_reading(file.descriptor());
  if (to_read.descriptor() >= 0)
    file = std::move(to_read);
  else if (!sealed)
    refuse("a read-only descriptor", bytes);
}

/// Best effort; needs Linux 6.1. Most systems use huge pages for shared memory only on request, and
/// small pages cost host and worker a fault each. A huge page without any content cannot be
/// collapsed yet.
void request_huge_pages(std::byte* data, std::uint64_t bytes) {
  if (bytes < isolate::min_huge_page_bytes) return;
  const auto whole = bytes - bytes % isolate::huge_page;
  for (std::uint64_t at = 0; at < whole; at += isolate::huge_page) data[at] = std::byte{};
  madvise(data, whole, MADV_COLLAPSE);
}

}  // namespace

SharedBlock::SharedBlock(std::uint64_t bytes, Access access, const char* what)
    : bytes_(whole_pages(bytes)), access_(access) {
  static std::atomic<std::uint64_t> last = 0;
  id_ = ++last;
  file_ = OpenFile(create_memory_file("tenon tensors"));
  if (file_.descriptor() < 0) refuse(what, bytes);
  if (bytes_ < bytes || bytes_ > INT64_MAX ||
      ftruncate(file_.descriptor(), static_cast<off_t>(bytes_)) != 0)
    refuse(what, bytes);
  void* memory = isolate::map_shared(file_.descriptor(), bytes_, PROT_READ | PROT_WRITE);
  if (memory == MAP_FAILED) refuse(what, bytes);
  data_ = static_cast<std::byte*>(memory);
  request_huge_pages(data_, bytes_);
  try {
    seal(file_, access, bytes_);
  } catch (...) {
    munmap(data_, bytes_);
    throw;
  }
}

OpenFile SharedBlock::open_for_reading() const {
  return opened_for_reading(descriptor());
}

SharedBlock::~SharedBlock() {
  munmap(data_, bytes_);
}

}  // namespace tenon
