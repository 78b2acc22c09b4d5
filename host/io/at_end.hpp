// Functions of plugins that run when the process exits normally.
#pragma once
#include <cstdint>

namespace tenon {

/// Registers `end`, called once with the process's exit status by end_process() or exit() of this
/// process, but not of copies made by fork(). Thread-safe.
void at_end(void (*end)(std::int32_t status)) noexcept;
/// Calls the registered functions in reverse order and removes them.
void run_at_end(std::int32_t status) noexcept;
/// Returns whether one of these functions is running; it may itself end the process.
bool is_at_end() noexcept;

}  // namespace tenon
