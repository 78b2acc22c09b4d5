// What the process of the checks tells when the code of a plugin crashes it.
#pragma once

namespace tenon::checks {

/// From now on a touch of a guard page is written to the pipe as the outcome of the check, and ends the process; before any other crash
/// ends it, the places of the code are written there: `!my_operator.so+0x5a3f`. For the calling thread's stack overflows, too.
void report_crashes(int pipe);

}  // namespace tenon::checks
