#include "io/at_end.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace tenon {
namespace {

struct Ends {
  std::mutex changing;
  std::vector<void (*)(std::int32_t)> functions;
};

Ends& ends() {
  static auto& all = *new Ends;  // for good: exit() may come while threads run
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
  ends().functions.push_back(end);
}

void run_at_end(std::int32_t status) noexcept {
  while (true) {
    void (*end)(std::int32_t) = nullptr;
    {
      const std::lock_guard lock(ends().changing);
      if (ends().functions.empty()) return;
      end = ends().functions.back();
      ends().functions.pop_back();
    }
    running = true;
    end(status);
    running = false;
  }
}

bool is_at_end() noexcept {
  return running;
}

}  // namespace tenon
