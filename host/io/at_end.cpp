#include "io/at_end.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace tenon {
namespace {

struct End {
  void (*function)(std::int32_t);
  pid_t process;  // a copy made by fork() has no connections of its own to close
};

struct Ends {
  std::mutex changing;
  std::vector<End> all;
};

Ends& ends() {
  static auto& all = *new Ends;  // never destroyed: exit() may be called while threads run
  return all;
}

std::atomic<bool> running = false;

void on_process_exit(int status, void*) {
  run_at_end(status);
}

}  // namespace

void at_end(void (*end)(std::int32_t status)) noexcept {
  static const bool registered = on_exit(on_process_exit, nullptr) == 0;
  static_cast<void>(registered);
  const std::lock_guard lock(ends().changing);
  ends().all.push_back({end, getpid()});
}

void run_at_end(std::int32_t status) noexcept {
  while (true) {
    End end{};
    {
      const std::lock_guard lock(ends().changing);
      if (ends().all.empty()) return;
      end = ends().all.back();
      ends().all.pop_back();
    }
    if (end.process != getpid()) continue;
    running = true;
    end.function(status);
    running = false;
  }
}

bool is_at_end() noexcept {
  return running;
}

}  // namespace tenon
