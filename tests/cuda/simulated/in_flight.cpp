#include "in_flight.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "cuda_simulated.h"
#include "state.hpp"

namespace simulated {
namespace {

struct Device {
  std::mutex mutex;
  std::condition_variable changed;
  int running[2] = {};
  std::uint64_t ended[2] = {};
};
Device& device_at(int id) {
  static auto* const all =
      new Device[max_devices];  // never destroyed: threads of streams may outlive main()
  return all[id];
}

std::atomic<int> milliseconds = 0;

}  // namespace

InFlight::InFlight(int device, Kind kind) : device_(device), kind_(kind) {
  auto& own = device_at(device);
  const auto mine = static_cast<int>(kind), other = 1 - mine;
  std::unique_lock lock(own.mutex);
  ++own.running[mine];
  if (own.running[other] > 0) {
    ++counters().overlaps;
    return;
  }
  if (milliseconds == 0) return;  // even waiting for no time is a system call
  const auto before = own.ended[other];
  own.changed.wait_for(lock, std::chrono::milliseconds(milliseconds),
                       [&] { return own.ended[other] != before; });
}

InFlight::~InFlight() {
  auto& own = device_at(device_);
  const std::lock_guard lock(own.mutex);
  --own.running[static_cast<int>(kind_)];
  ++own.ended[static_cast<int>(kind_)];
  own.changed.notify_all();
}

}  // namespace simulated

void simulated_linger(int milliseconds) {
  simulated::milliseconds = milliseconds;
}
