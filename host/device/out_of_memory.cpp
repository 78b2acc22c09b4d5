#include "device/out_of_memory.hpp"

#include "io/readable_bytes.hpp"

namespace tenon {

Failure out_of_memory(const std::string& device, const std::string& what, std::uint64_t bytes, const DeviceMemory& memory) {
  return {FailureKind::failed,
          device + " is out of memory: " + what + " needs " + readable_bytes(bytes) + ", and " + readable_bytes(memory.free) + " of " +
              readable_bytes(memory.total) + " are free",
          "use a smaller batch; tenon show --memory reports what a graph needs"};
}

}  // namespace tenon
