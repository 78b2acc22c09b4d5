// Information from the processor about a fault. Async-signal-safe.
#pragma once
#include <ucontext.h>

#include "io/crash/crash_report.hpp"

namespace tenon {

/// Returns the interrupted code address from a signal's context; 0 on unsupported processors.
inline std::uintptr_t interrupted_code([[maybe_unused]] const void* context) noexcept {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#else
  return 0;
#endif
}

/// Returns the kind of access from the context of a SIGSEGV or SIGBUS.
inline CrashReport::Access access_of_fault([[maybe_unused]] const void* context) noexcept {
#if defined(__x86_64__)
  constexpr std::uint64_t page_fault = 14, writes = 2;
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  if (registers[REG_TRAPNO] == page_fault)
    return (registers[REG_ERR] & writes) != 0 ? CrashReport::Access::write
                                              : CrashReport::Access::read;
#endif
  return CrashReport::Access::unknown;
}

}  // namespace tenon
