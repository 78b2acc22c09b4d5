// What plugins do when the process ends in order.
#pragma once
#include <cstdint>

namespace tenon {

/// Calls `end` once with the process's exit status: in end_process(), or in exit(), of this process and of no
/// copy that fork() made. Threads: any.
void at_end(void (*end)(std::int32_t status)) noexcept;
/// Calls what was given, the last one first, and forgets it.
void run_at_end(std::int32_t status) noexcept;
/// Whether one of these functions runs: it may end the process itself.
bool is_at_end() noexcept;

}  // namespace tenon
