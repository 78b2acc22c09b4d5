// Crash reports of the worker.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "isolate/protocol.hpp"

namespace tenon::isolate {

/// Records fatal signals with a backtrace from now on, then lets them kill. `names` maps paths of
/// libraries to the names to report. Call once, after all libraries are loaded. Stack overflows are
/// recorded on threads that called use_signal_stack.
void record_crashes(CrashRecord& record, const std::map<std::string, std::string>& names);

/// For the calling thread, which serves this conversation, for its lifetime.
void use_signal_stack(std::uint32_t conversation);

}  // namespace tenon::isolate
