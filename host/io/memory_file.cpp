#include "io/memory_file.hpp"

#include <sys/mman.h>

#include <cerrno>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

namespace tenon {

// Kernels since 6.3 want to be told that nobody will execve the file; older ones do not know the flag.
int make_memory_file(const char* name) {
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int descriptor = memfd_create(name, flags | MFD_NOEXEC_SEAL);
  return descriptor >= 0 || errno != EINVAL ? descriptor : memfd_create(name, flags);
}

}  // namespace tenon
