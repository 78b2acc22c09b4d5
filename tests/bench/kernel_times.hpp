// GPU activity as reported by CUPTI: the time of each kernel, and calls of the CUDA runtime. CUPTI
// is part of the CUDA toolkit; the build puts a copy next to the benchmarks, for machines with only
// the driver.
#pragma once
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../built.hpp"

#if __has_include(<cupti.h>) && !defined(TENON_SIMULATED_CUDA)
#define TENON_HAVE_CUPTI
#include <cuda.h>
#include <cupti.h>
#endif

/// Totals of this process between two points in time.
struct KernelTimes {
  double own = 0,
         library = 0;  ///< microseconds in kernels written with Tenon's SDK, and in all others
  std::uint64_t kernels = 0;                 ///< number of kernels
  std::uint64_t waits = 0, allocations = 0;  ///< calls of the CUDA runtime that wait for the GPU,
                                             ///< or allocate its memory or pinned memory
  std::uint64_t graph_launches = 0;          ///< launches of captured CUDA graphs
  std::uint64_t lost = 0;                 ///< dropped records; if not 0, the totals are incomplete
  std::map<std::string, double> by_name;  ///< microseconds of each kernel, by its mangled name

  double all() const { return own + library; }
  std::vector<std::pair<double, std::string>> longest() const {
    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [name, time] : by_name) sorted.emplace_back(time, name);
    std::sort(sorted.rbegin(), sorted.rend());
    return sorted;
  }
};

#if defined(TENON_HAVE_CUPTI)
class KernelWatch {
 public:
  /// Throws std::runtime_error if CUPTI is missing or fails.
  KernelWatch() {
    for (const auto& name : {built("tests/libcupti.so"), std::string("libcupti.so")})
      if (library_ == nullptr) library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr)
      throw std::runtime_error(std::string("CUPTI cannot be loaded: ") + dlerror());
    static bool registered = false;
    if (!registered)
      require(function<decltype(&cuptiActivityRegisterCallbacks)>("cuptiActivityRegisterCallbacks")(
          give_buffer, take_buffer));
    registered = true;
    times() = {};
    const auto enable = function<decltype(&cuptiActivityEnable)>("cuptiActivityEnable");
    for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME})
      require(enable(kind));
  }
  KernelWatch(const KernelWatch&) = delete;
  KernelWatch& operator=(const KernelWatch&) = delete;

  /// Discards all records so far. Call it while the GPU is idle.
  void restart() {
    flush();
    const std::lock_guard lock(mutex_);
    times() = {};
  }
  /// Call it once, while the GPU is idle.
  KernelTimes stop() {
    const auto disable = function<decltype(&cuptiActivityDisable)>("cuptiActivityDisable");
    for (const auto kind : {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL})
      require(disable(kind));
    flush();
    const std::lock_guard lock(mutex_);
    return times();
  }

 private:
  static constexpr std::size_t buffer_bytes = 8 << 20;

  // One watch at a time: CUPTI's callbacks take no user data.
  static KernelTimes& times() {
    static KernelTimes only;
    return only;
  }
  inline static void* library_ = nullptr;
  inline static std::mutex mutex_;  // guards times(): CUPTI has a thread of its own

  template <class Function>
  static Function function(const char* name) {
    const auto found = reinterpret_cast<Function>(dlsym(library_, name));
    if (found == nullptr) throw std::runtime_error(std::string("this CUPTI has no ") + name);
    return found;
  }
  static void flush() {
    require(function<decltype(&cuptiActivityFlushAll)>("cuptiActivityFlushAll")(
        CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  }
  static void require(CUptiResult result) {
    if (result == CUPTI_SUCCESS) return;
    const char* text = "";
    function<decltype(&cuptiGetResultString)>("cuptiGetResultString")(result, &text);
    throw std::runtime_error(std::string("CUPTI fails: ") + text);
  }
  static void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes,
                                   std::size_t* max_records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
    *bytes = *buffer == nullptr ? 0 : buffer_bytes;
    *max_records = 0;
  }
  static void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                   std::size_t, std::size_t filled) {
    static const auto next =
        function<decltype(&cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord");
    static const auto dropped =
        function<decltype(&cuptiActivityGetNumDroppedRecords)>("cuptiActivityGetNumDroppedRecords");
    const std::lock_guard lock(mutex_);
    CUpti_Activity* record = nullptr;
    while (next(buffer, filled, &record) == CUPTI_SUCCESS) take(*record);
    std::size_t lost = 0;
    if (dropped(context, stream, &lost) == CUPTI_SUCCESS) times().lost += lost;
    std::free(buffer);
  }
  static void take(const CUpti_Activity& record) {
    if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
      take_kernel(reinterpret_cast<const CUpti_ActivityKernel9&>(record));
    else if (record.kind == CUPTI_ACTIVITY_KIND_RUNTIME)
      take_call(reinterpret_cast<const CUpti_ActivityAPI&>(record));
  }
  // Tenon's kernels are in namespace tenon; those of plugins are instances of gpu::for_each() and
  // for_each_block().
  static bool is_own(std::string_view name) {
    return name.starts_with("_ZN5tenon") || name.starts_with("void tenon::");
  }
  static void take_kernel(const CUpti_ActivityKernel9& kernel) {
    if (kernel.end <= kernel.start) {  // it was not timed
      ++times().lost;
      return;
    }
    const std::string name = kernel.name == nullptr ? "" : kernel.name;
    const double time = static_cast<double>(kernel.end - kernel.start) / 1000;
    (is_own(name) ? times().own : times().library) += time;
    ++times().kernels;
    times().by_name[name] += time;
  }
  static void take_call(const CUpti_ActivityAPI& call) {
    static const auto name_of = function<decltype(&cuptiGetCallbackName)>("cuptiGetCallbackName");
    const char* text = nullptr;
    if (name_of(CUPTI_CB_DOMAIN_RUNTIME_API, call.cbid, &text) != CUPTI_SUCCESS || text == nullptr)
      return;
    const std::string_view name = text;
    if (name.find("Synchronize") != name.npos) ++times().waits;
    if (name.find("GraphLaunch") != name.npos) ++times().graph_launches;
    if (name.find("Malloc") != name.npos || name.find("HostAlloc") != name.npos)
      ++times().allocations;
  }
};
#else
class KernelWatch {
 public:
  KernelWatch() { throw std::runtime_error("this build has no CUPTI"); }
  void restart() {}
  KernelTimes stop() { return {}; }
};
#endif
