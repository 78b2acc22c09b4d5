// Ends the workers when a test program ends: LeakSanitizer looks about while that happens, and threads that are ending confuse it.
#include "device/threads.hpp"

static const struct WorkersEnd {
  ~WorkersEnd() { tenon::end_workers(); }
} workers_end;
