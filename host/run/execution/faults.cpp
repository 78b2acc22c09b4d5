#include "run/execution/faults.hpp"

#include <cstring>

#include "device/devices.hpp"
#include "device/stream.hpp"

namespace tenon {

Faults::Faults(const Stream& stream, std::vector<std::uint32_t> steps)
    : steps_(std::move(steps)),
      records_(stream, bytes(), "the fault record of the plan"),
      found_(stream.device(), bytes(), "the fault record of the plan") {
  clear();
}

void Faults::fetch() {
  copy({cpu_device(), found_.data()}, records_.address(), bytes(), records_.stream());
}

// Safe because the stream is idle when this is called, so the pinned words have no other reader.
void Faults::clear() {
  std::memset(found_.data(), 0, bytes());
  copy(records_.address(), {cpu_device(), found_.data()}, bytes(), records_.stream());
  records_.stream().synchronize();
}

}  // namespace tenon
