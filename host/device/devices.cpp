#include "device/devices.hpp"

#include <tenon/host/devices.hpp>
#include <tenon/host/failure.hpp>

#include "device/cpu_device.hpp"
#include "device/cuda_state.hpp"

namespace tenon {
namespace {

std::vector<Device*> find_all() {
  std::vector<Device*> all{&cpu_device()};
  for (const auto& device : cuda_state().devices) all.push_back(device.get());
  return all;
}

// For example `cpu, cuda:0 and cuda:1`.
std::string names_of_all() {
  std::string names;
  for (std::size_t i = 0; i < devices().size(); ++i)
    names += (i == 0 ? "" : i + 1 == devices().size() ? " and " : ", ") + devices()[i]->name();
  return names;
}

Failure no_such_device(std::string_view name) {
  const auto& cuda = cuda_state();
  const bool without_cuda = name.starts_with("cuda") && cuda.status != CudaStatus::usable;
  const std::string reason = without_cuda ? cuda.reason : "this machine has " + names_of_all();
  return {FailureKind::usage, "there is no device '" + std::string(name) + "': " + reason,
          without_cuda ? cuda.hint : ""};
}

DeviceInfo info_of(Device& device) {
  DeviceInfo info{.name = device.name(), .model = {}};
  try {
    const auto found = device.properties();
    const auto memory = device.memory();
    info.model = found.model, info.major = found.major, info.minor = found.minor,
    info.processors = found.processors;
    info.free = memory.free, info.total = memory.total;
  } catch (const Failure& failure) {
    info.error = failure.what();
  }
  return info;
}

}  // namespace

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> infos;
  for (Device* device : devices()) infos.push_back(info_of(*device));
  return infos;
}

std::string device_name(std::string_view device) {
  return find_device(device).name();
}

CudaInfo cuda_info() {
  return cuda_state();
}

Device& cpu_device() {
  static auto& device = *new CpuDevice;  // never destroyed: memory of static objects is freed later
  return device;
}

const std::vector<Device*>& devices() {
  static const auto& all = *new std::vector<Device*>(find_all());
  return all;
}

Device& find_device(std::string_view name) {
  if (name == "cpu") return cpu_device();
  for (Device* device : devices())
    if (device->name() == (name == "cuda" ? "cuda:0" : name)) return *device;
  throw no_such_device(name);
}

}  // namespace tenon
