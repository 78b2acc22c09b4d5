#include "io/file_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <new>

#include "io/system_reason.hpp"

namespace tenon {
namespace {

constexpr std::size_t alignment = 64;  // a cache line, and the widest vector

bool same(const struct timespec& left, const struct timespec& right) {
  return left.tv_sec == right.tv_sec && left.tv_nsec == right.tv_nsec;
}

bool same_file(const struct stat& left, const struct stat& right) {
  return left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

Failure change(const std::filesystem::path& path, const std::string& what) {
  return {FailureKind::file, fmt::format("{} {}", path.string(), what),
          "load it again; to replace a file that is in use, write a new file and rename it"};
}

// File timestamps advance in ticks of some milliseconds, and a write in the same tick as the last
// one would leave no trace. So a file that was just written is opened a tick later. A file that is
// written constantly never settles; its next timestamp reveals the change.
struct stat settled(const OpenFile& file) {
  constexpr struct timespec millisecond { 0, 1000000 };
  struct stat status = file.status();
  struct timespec now {};
  for (int waits = 0;
       waits < 30 && ::clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 && same(now, status.st_mtim);
       ++waits) {
    ::nanosleep(&millisecond, nullptr);
    if (::fstat(file.descriptor(), &status) != 0) break;
  }
  return status;
}

}  // namespace

FileMemory::FileMemory(std::filesystem::path path, OpenFile file)
    : path_(std::move(path)),
      file_(std::move(file)),
      size_(static_cast<std::size_t>(file_.size())) {}

void FileMemory::read() {
  data_ = static_cast<std::byte*>(
      std::aligned_alloc(alignment, (size_ + alignment - 1) / alignment * alignment));
  if (data_ == nullptr) throw std::bad_alloc();
  for (std::size_t done = 0; done < size_;) {
    const auto count = ::read(file_.descriptor(), data_ + done, size_ - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_failure("read", path_, system_reason(errno));
    if (count == 0)
      throw file_failure("read", path_,
                         fmt::format("it was truncated to {} bytes while it was read", done));
    done += static_cast<std::size_t>(count);
  }
  struct stat now {};
  if (::fstat(file_.descriptor(), &now) != 0)
    throw file_failure("read", path_, system_reason(errno));
  if (now.st_size != file_.status().st_size || !same(now.st_mtim, file_.status().st_mtim))
    throw file_failure("read", path_, "it was written to while it was read");
  file_ = OpenFile(-1);
}

void FileMemory::map() {
  // Private pages are copied on write. NORESERVE: no memory is reserved for copies that are rarely
  // made.
  void* const memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                              file_.descriptor(), 0);
  if (memory == MAP_FAILED) throw file_failure("read", path_, system_reason(errno));
  data_ = static_cast<std::byte*>(memory);
  range_ = &MappedRange::add(data_, size_, file_.descriptor(), this);
}

std::shared_ptr<const FileMemory> FileMemory::open(const std::filesystem::path& path,
                                                   std::uint64_t map_above) {
  return of(path, OpenFile::for_reading(path), map_above);
}

std::shared_ptr<const FileMemory> FileMemory::of(const std::filesystem::path& path, OpenFile file,
                                                 std::uint64_t map_above) {
  if (file.size() > std::numeric_limits<std::size_t>::max() - alignment)
    throw file_failure("read", path, "it is larger than the address space");
  const bool mapped = file.size() > map_above;
  if (mapped) {
    const auto status = settled(file);
    file = OpenFile(file.release(), status);
  }
  const std::shared_ptr<FileMemory> memory(new FileMemory(path, std::move(file)));
  if (memory->size_ != 0) mapped ? memory->map() : memory->read();
  return memory;
}

std::shared_ptr<const FileMemory> FileMemory::at(const void* address) {
  const auto* const owner = static_cast<const FileMemory*>(MappedRange::owner_of(address));
  return owner == nullptr ? nullptr : owner->shared_from_this();
}

FileMemory::~FileMemory() {
  if (range_ == nullptr) {
    std::free(data_);
    return;
  }
  range_->remove();
  ::munmap(data_, size_);
}

void FileMemory::require_unchanged() const {
  if (range_ == nullptr) return;
  struct stat now {};
  const auto& then = file_.status();
  if (::fstat(file_.descriptor(), &now) != 0 || !same_file(now, then))
    throw change(path_,
                 "is mapped, but other code in this process closed its descriptor, so changes "
                 "cannot be detected");
  if (now.st_size != then.st_size)
    throw change(path_, fmt::format("was {} while it was in use: it had {} bytes and has {}",
                                    now.st_size < then.st_size ? "truncated" : "written to",
                                    then.st_size, now.st_size));
  if (!same(now.st_mtim, then.st_mtim)) throw change(path_, "was written to while it was in use");
  if (range_->lost())
    throw change(path_, "lost pages while it was in use, which were replaced by zeros");
}

}  // namespace tenon
