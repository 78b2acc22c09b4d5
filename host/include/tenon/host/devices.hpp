// The devices of this machine, and the cores available to this process.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/host/api.hpp>
#include <vector>

namespace tenon {

struct DeviceInfo {
  std::string name;                   ///< as accepted by options: `cpu`, `cuda:0`
  std::string model;                  ///< `NVIDIA H100 80GB HBM3`
  int major = 0, minor = 0;           ///< CUDA's compute capability; 0.0 for the CPU
  int processors = 0;                 ///< cores of the CPU, multiprocessors of a GPU
  std::uint64_t free = 0, total = 0;  ///< bytes of memory
  std::string error{};  ///< why the device does not respond, a sentence; empty: it does
};

/// Lists the CPU, then CUDA devices by number. The first call in a process initializes CUDA; a
/// process that forks afterwards has no CUDA in the child.
TENON_API std::vector<DeviceInfo> list_devices();

/// The full name of a device: `cuda` is `cuda:0`. Throws Failure (usage) if this machine has no
/// such device, listing its devices or why CUDA cannot be used. Initializes CUDA, unless the name
/// is `cpu`.
TENON_API std::string device_name(std::string_view device);

/// Waits for the application's work on the device's default streams, including those of this
/// thread. Call it before importing tensors of another library whose work may be pending. Returns
/// at once for the CPU. Throws Failure as device_name() does.
TENON_API void wait_for_application(std::string_view device);

enum class CudaStatus : std::uint8_t {
  usable,
  not_built,   ///< this library was built without the CUDA toolkit
  no_driver,   ///< the machine has no driver
  old_driver,  ///< the driver is older than the runtime needs
  no_device,
  broken,  ///< the runtime fails
};

/// Whether CUDA can be used, and why not. Versions are CUDA's numbers: 13000 is 13.0.
struct CudaInfo {
  CudaStatus status = CudaStatus::not_built;
  int runtime = 0;     ///< version that this library was built with; 0: without CUDA
  int driver = 0;      ///< newest version that the driver supports; 0: no driver
  std::string reason;  ///< why CUDA cannot be used, a sentence without a full stop; empty if it can
  std::string hint;    ///< what to do about it; may be empty
};
TENON_API CudaInfo cuda_info();  ///< initializes CUDA, as list_devices() does

/// `13.0`
TENON_API std::string cuda_version_text(int version);

/// The cores available to this process, possibly fewer than the machine has.
struct TENON_API UsableCores {
  int machine = 1;   ///< online cores
  int affinity = 1;  ///< cores in the process's affinity mask
  std::optional<double>
      quota;  ///< CPU time limit of the cgroups, in cores: 1.5 is one and a half; nothing: no limit

  /// The smaller of affinity and quota, rounded up; at least 1. HostOptions::threads of 0 means
  /// this number.
  int count() const;
};
TENON_API UsableCores usable_cores();

/// `machine 64, affinity mask 8, cgroup quota 1.5`
TENON_API std::string describe(const UsableCores& cores);

inline constexpr int max_threads = 1024;  ///< maximum of HostOptions::threads
[[deprecated("use max_threads; until 0.4")]] inline constexpr int most_threads = max_threads;

/// An opaque pointer of the calling thread, which the host never dereferences. While the host's
/// threads work for this thread, it returns the same pointer there. Language bindings use it to
/// identify the caller of a kernel. Null unless set.
TENON_API const void* caller_context() noexcept;
/// Sets the pointer and returns the previous one.
TENON_API const void* set_caller_context(const void* context) noexcept;

/// Waits until the library's threads have ended. Call it last in main(), after the last Host is
/// destroyed: the threads' cleanup uses libraries that are unloaded when the process ends. Does
/// nothing while a Host exists or other code uses oneTBB.
TENON_API void end_workers() noexcept;

}  // namespace tenon
