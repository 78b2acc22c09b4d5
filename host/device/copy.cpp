#include "device/copy.hpp"

#include <tenon/failure.hpp>

namespace tenon {

static bool may_copy(const Device& device, const Device& to, const Device& from) {
  return (&device == &to || &device == &from) && (!device.is_cpu() || (to.is_cpu() && from.is_cpu()));
}

void copy(const Place& to, const Place& from, std::uint64_t bytes, const Stream& stream) {
  Device& device = stream.device();
  if (!may_copy(device, to.device, from.device)) {
    throw Failure(FailureKind::usage,
                  join("a stream of ", device.name(), " cannot copy from ", from.device.name(), " to ", to.device.name()));
  }
  if (bytes != 0) device.copy(to, from, bytes, stream.handle());
}

}  // namespace tenon
