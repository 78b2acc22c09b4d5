#include "io/mapped_file.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <limits>

#include "io/open_file.hpp"
#include "io/system_reason.hpp"

namespace tenon {

static std::byte* map(const std::filesystem::path& path, const OpenFile& file) {
  if (file.size() == 0) return nullptr;  // which mmap refuses
  if (file.size() > std::numeric_limits<std::size_t>::max())
    throw file_failure("read", path, "it is larger than this machine's memory can show");
  // Private pages are copied when written. NORESERVE: no memory is set aside for copies that hardly anybody makes.
  void* const memory =
      ::mmap(nullptr, static_cast<std::size_t>(file.size()), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.descriptor(), 0);
  if (memory == MAP_FAILED) throw file_failure("read", path, system_reason(errno));
  return static_cast<std::byte*>(memory);
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const OpenFile file = OpenFile::for_reading(path);
  return std::shared_ptr<const MappedFile>(new MappedFile(path, map(path, file), static_cast<std::size_t>(file.size())));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace tenon
