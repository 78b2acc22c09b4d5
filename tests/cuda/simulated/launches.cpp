#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_simulated.h"
#include "cuda_simulated_launch.h"
#include "host_address.hpp"
#include "in_flight.hpp"
#include "stream.hpp"
#include "threads_of_block.hpp"

using namespace simulated;

namespace {

struct alignas(64) Piece {
  std::byte bytes[64];
};

// The bytes of a kernel body, which CUDA copies at the launch.
class Copied {
 public:
  explicit Copied(const SimulatedLaunch& launch)
      : pieces_(std::make_shared<std::vector<Piece>>(launch.bytes / sizeof(Piece) + 1)) {
    std::memcpy(pieces_->data(), launch.body, launch.bytes);
  }
  const void* body() const { return pieces_->data(); }

 private:
  std::shared_ptr<std::vector<Piece>> pieces_;
};

// Returns cudaSuccess, or the error of an invalid launch.
cudaError_t judge(cudaStream_t stream, const SimulatedLaunch& launch) {
  if (state() != cudaSuccess) return state();
  if (stream == nullptr || stream->device != current_device())
    return cudaErrorInvalidResourceHandle;
  const auto found = host_address_in(launch);
  if (found.empty()) return cudaSuccess;
  simulated_lose_device(cudaErrorIllegalAddress, found);
  return cudaErrorIllegalAddress;
}

// Streams reuse the threads' stacks, because creating them takes longer than most kernels.
class BorrowedThreads {
 public:
  BorrowedThreads() {
    const std::lock_guard lock(mutex_);
    if (idle().empty()) return;
    own_ = std::move(idle().back());
    idle().pop_back();
  }
  ~BorrowedThreads() {
    const std::lock_guard lock(mutex_);
    if (own_) idle().push_back(std::move(own_));
  }
  BorrowedThreads(const BorrowedThreads&) = delete;
  BorrowedThreads& operator=(const BorrowedThreads&) = delete;

  std::string run(ThreadsOfBlock::Run run, const void* body, std::int64_t i) {
    if (!own_) own_ = std::make_unique<ThreadsOfBlock>();
    return own_->run(run, body, i);
  }

 private:
  using Idle = std::vector<std::unique_ptr<ThreadsOfBlock>>;
  static Idle& idle() {
    static auto* const all =
        new Idle;  // never destroyed: streams may still work when the program ends
    return *all;
  }
  static inline std::mutex mutex_;
  std::unique_ptr<ThreadsOfBlock> own_;
};

void run_blocks(const void* body, std::int64_t count, ThreadsOfBlock::Run run) {
  BorrowedThreads threads;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto fault = threads.run(run, body, i);
    if (!fault.empty()) return simulated_lose_device(cudaErrorLaunchFailure, fault);
  }
}

}  // namespace

cudaError_t simulated_launch(cudaStream_t stream, const SimulatedLaunch& launch) {
  if (const auto result = judge(stream, launch); result != cudaSuccess) return result_of(result);
  stream->add(touching(stream->device, [device = stream->device, copied = Copied(launch),
                                        count = launch.count, run = launch.run] {
    const InFlight flight(device, Kind::kernel);
    ++counters().launches;
    run(copied.body(), count);
  }));
  return result_of();
}

cudaError_t simulated_launch_blocks(cudaStream_t stream, const SimulatedLaunch& launch) {
  if (const auto result = judge(stream, launch); result != cudaSuccess) return result_of(result);
  stream->add(touching(stream->device, [device = stream->device, copied = Copied(launch),
                                        count = launch.count, run = launch.run] {
    const InFlight flight(device, Kind::kernel);
    ++counters().launches;
    run_blocks(copied.body(), count, run);
  }));
  return result_of();
}

int simulated_thread_of_block() {
  return ThreadsOfBlock::thread();
}

void simulated_sync_of_block() {
  ThreadsOfBlock::sync();
}
