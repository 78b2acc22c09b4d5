// What a crashing worker leaves behind.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "isolate/protocol.hpp"

namespace tenon::isolate {

/// Signals that kill are recorded from now on, with the addresses on the stack; then they kill. `names` are what libraries loaded from
/// other paths are called. Once, when all libraries are loaded; an exhausted stack is recorded on threads that called use_signal_stack.
void record_crashes(CrashRecord& record, const std::map<std::string, std::string>& names);

/// Of the calling thread, which serves this conversation, for as long as it lives.
void use_signal_stack(std::uint32_t conversation);

}  // namespace tenon::isolate
