// The devices of this machine, and the cores that this process may use.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/host/api.hpp>
#include <vector>

namespace tenon {

struct DeviceInfo {
  std::string name;                   ///< as options take it: `cpu`, `cuda:0`
  std::string model;                  ///< `NVIDIA H100 80GB HBM3`
  int major = 0, minor = 0;           ///< CUDA's compute capability; 0.0 of the CPU
  int processors = 0;                 ///< cores of the CPU, multiprocessors of a GPU
  std::uint64_t free = 0, total = 0;  ///< bytes of memory
  std::string error{};                ///< why a device does not answer, a sentence; empty: it does
};

/// The CPU, then CUDA's devices by number. The first call of a process starts CUDA; a process that forks later has no CUDA in the child.
TENON_API std::vector<DeviceInfo> list_devices();

/// The full name of a device: `cuda` is `cuda:0`. Throws Failure (usage) if this machine has no such device, with those that it has or why
/// CUDA cannot be used. Starts CUDA, unless the name is `cpu`.
TENON_API std::string device_name(std::string_view device);

/// Waits until what the application has put on the device's default streams, those of this thread included, is done: call it before tensors
/// of another library come in, whose work may still be on its way. The CPU has nothing to wait for. Throws Failure, as device_name().
TENON_API void wait_for_application(std::string_view device);

enum class CudaStatus : std::uint8_t {
  usable,
  not_built,   ///< this library was built without the CUDA toolkit
  no_driver,   ///< the machine has no driver
  old_driver,  ///< the driver is older than the runtime needs
  no_device,
  broken,  ///< the runtime fails
};

/// Whether CUDA can be used, and why not. Versions as CUDA writes them: 13000 is 13.0.
struct CudaInfo {
  CudaStatus status = CudaStatus::not_built;
  int runtime = 0;     ///< that this library was built with; 0: without CUDA
  int driver = 0;      ///< newest version that the driver knows; 0: there is no driver
  std::string reason;  ///< why it cannot be used, a sentence without a full stop; empty if it can
  std::string hint;    ///< what to do about it; may be empty
};
TENON_API CudaInfo cuda_info();  ///< starts CUDA, as list_devices() does

/// `13.0`
TENON_API std::string cuda_version_text(int version);

/// Cores that this process may use, which may be fewer than the machine has.
struct TENON_API UsableCores {
  int machine = 1;              ///< that are online
  int affinity = 1;             ///< on which the process may run
  std::optional<double> quota;  ///< of CPU time that its cgroups allow, in cores: 1.5 is one and a half; nothing: no limit

  /// The smaller of affinity and quota, a part of a core counting as one; at least 1. HostOptions::threads of 0 stands for this.
  int count() const;
};
TENON_API UsableCores usable_cores();

/// `machine 64, affinity mask 8, cgroup quota 1.5`
TENON_API std::string describe(const UsableCores& cores);

inline constexpr int most_threads = 1024;  ///< of HostOptions::threads

/// A pointer of the calling thread that the host never reads: while the host's threads work for this thread, they return it, too. Bindings
/// of other languages find the caller of a kernel by it. Null unless set.
TENON_API const void* caller_context() noexcept;
/// Returns the one before.
TENON_API const void* set_caller_context(const void* context) noexcept;

/// Waits until the library's threads have ended. Call it last in main(), after the last Host is gone: what threads clean up belongs to
/// libraries that the end of the process unloads. Does nothing while a Host lives or others use oneTBB.
TENON_API void end_workers() noexcept;

}  // namespace tenon
