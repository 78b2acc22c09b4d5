// Ends the worker threads when a test program exits: threads that are ending confuse LeakSanitizer.
#include "device/threads.hpp"

static const struct WorkersEnd {
  ~WorkersEnd() { tenon::end_workers(); }
} workers_end;
