// How a process came to an end that it did not choose, and the sentence for it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "io/crash/running.hpp"

namespace tenon {

/// Plain memory with copies of all names: a signal handler fills it in, and another process may read it.
struct Ending {
  enum class Way : std::uint8_t {
    crashed,    ///< number: the signal
    exited,     ///< number: the exit code
    unwound,    ///< pthread_exit
    hung,       ///< number: the limit in milliseconds
    signalled,  ///< number: the signal; somebody else's, most likely
    stopped,    ///< number: the process; no end yet
    copied      ///< fork, and both came back
  };
  enum class Culprit : std::uint8_t {
    none,
    runs,       ///< the thread was in this call
    elsewhere,  ///< another thread was in this call
    ran_last    ///< no thread was in any call
  };
  enum class Access : std::uint8_t { unknown, read, write };

  Way way = Way::crashed;
  Culprit culprit = Culprit::none;
  Access access = Access::unknown;
  bool has_address = false, stack_overflow = false;
  PluginFunction function = PluginFunction::none;
  int number = 0;
  std::uint64_t address = 0;
  char op[136] = "", node[136] = "", plugin[1024] = "";

  /// Says who it was. `own`: what the thread was doing, null if that is not known. With `distrust`, reads shared crash memory alone: it was
  /// written by a process that may have damaged it. Async-signal-safe.
  void name(const RunningSlot* own, bool distrust = false) noexcept;
};

struct EndingText {
  char sentence[2048], hint[1280];  ///< hint: empty where there is none
};
/// `[op] node 'n' of PLUGIN crashed with SIGSEGV in forward(): it wrote to address 0x8`. Async-signal-safe.
void describe(const Ending& ending, EndingText& text) noexcept;

}  // namespace tenon
