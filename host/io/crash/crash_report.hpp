// Reports of how a process ended unintentionally, and their texts.
#pragma once
#include <cstddef>
#include <cstdint>

#include "io/crash/active_call.hpp"

namespace tenon {

/// Plain memory with copies of all names: a signal handler fills it in, and another process may
/// read it.
struct CrashReport {
  enum class Kind : std::uint8_t {
    crashed,    ///< number: the signal
    exited,     ///< number: the exit code
    unwound,    ///< pthread_exit
    hung,       ///< number: the limit in milliseconds
    signalled,  ///< number: the signal; most likely sent by another process
    stopped,    ///< number: the process; it has not ended
    copied      ///< forked, and both copies returned
  };
  /// Where the reported call comes from.
  enum class CallSource : std::uint8_t {
    none,
    this_thread,   ///< the crashing thread was in this call
    other_thread,  ///< another thread was in this call
    last_call      ///< no thread was in a call
  };
  enum class Access : std::uint8_t { unknown, read, write };

  Kind kind = Kind::crashed;
  CallSource source = CallSource::none;
  Access access = Access::unknown;
  bool has_address = false, stack_overflow = false;
  PluginFunction function = PluginFunction::none;
  int number = 0;
  std::uint64_t address = 0;
  char op[136] = "", node[136] = "", plugin[1024] = "";

  /// Determines `source` and the call. `own_slot` is the thread's slot, null if unknown. With
  /// `distrust`, reads only shared crash memory, because the pointers were written by a process
  /// that may have corrupted them. Async-signal-safe.
  void find_source(const CallSlot* own_slot, bool distrust = false) noexcept;
};

struct CrashReportText {
  char sentence[2048], hint[1280];  ///< hint: empty if there is none
};
/// Example: `[op] node 'n' of PLUGIN crashed with SIGSEGV in forward(): it wrote to address 0x8`.
/// Async-signal-safe.
void describe(const CrashReport& report, CrashReportText& text) noexcept;

}  // namespace tenon
