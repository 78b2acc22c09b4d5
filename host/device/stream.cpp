#include "device/stream.hpp"

#include <tenon/host/failure.hpp>

namespace tenon {

Stream::Stream(Device& device)
    : device_(&device),
      handle_(device.create_stream(), [&device](void* stream) { device.free_stream(stream); }) {}

void Stream::wait(const Event& event) const {
  if (device_->is_cpu()) return event.synchronize();
  if (!event.device().is_cpu())
    device_->wait(handle(), event.handle());  // CPU work is already complete
}

Event::Event(Device& device) : device_(&device), handle_(device.create_event(), Free{&device}) {}

void Event::record(const Stream& stream) const {
  if (&stream.device() != device_)
    throw Failure(FailureKind::usage,
                  join("an event of ", device_->name(), " cannot be recorded on a stream of ",
                       stream.device().name()));
  device_->record(handle(), stream.handle());
}

static bool may_copy(const Device& device, const Device& to, const Device& from) {
  return (&device == &to || &device == &from) &&
         (!device.is_cpu() || (to.is_cpu() && from.is_cpu()));
}

void copy(const DeviceAddress& to, const DeviceAddress& from, std::uint64_t bytes,
          const Stream& stream) {
  Device& device = stream.device();
  if (!may_copy(device, to.device, from.device)) {
    throw Failure(FailureKind::usage, join("a stream of ", device.name(), " cannot copy from ",
                                           from.device.name(), " to ", to.device.name()));
  }
  if (bytes != 0) device.copy(to, from, bytes, stream.handle());
}

}  // namespace tenon
