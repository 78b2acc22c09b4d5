#include "io/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <thread>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

namespace tenon {

// Kernels since 6.3 expect a flag that the file will not be executed; older ones reject the flag.
int create_memory_file(const char* name) {
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int descriptor = memfd_create(name, flags | MFD_NOEXEC_SEAL);
  return descriptor >= 0 || errno != EINVAL ? descriptor : memfd_create(name, flags);
}

bool seal_memory_file(int descriptor, int seals) {
  for (int tries = 0; fcntl(descriptor, F_ADD_SEALS, seals) != 0; ++tries) {
    if (errno != EBUSY || tries == 50) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace tenon
