// What the processor tells of an access that it refused.
#pragma once
#include <ucontext.h>

#include "io/crash/ending.hpp"

namespace tenon {

/// From the context of SIGSEGV or SIGBUS. Async-signal-safe.
inline Ending::Access access_of_fault([[maybe_unused]] const void* context) noexcept {
#if defined(__x86_64__)
  constexpr std::uint64_t page_fault = 14, writes = 2;
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  if (registers[REG_TRAPNO] == page_fault) return (registers[REG_ERR] & writes) != 0 ? Ending::Access::write : Ending::Access::read;
#endif
  return Ending::Access::unknown;
}

}  // namespace tenon
