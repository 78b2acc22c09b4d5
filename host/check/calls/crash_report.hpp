// The report of a child process that plugin code crashed.
#pragma once

namespace tenon::checks {

/// Installs crash handlers. An access to a guard page is written to the pipe as the outcome of the
/// check and ends the process. For any other crash, the backtrace is written to the pipe first, as
/// in `!my_operator.so+0x5a3f`. This includes stack overflows of the calling thread.
void report_crashes(int pipe);

}  // namespace tenon::checks
