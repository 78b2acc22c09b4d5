#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "memory.hpp"
#include "stream.hpp"

using namespace simulated;

namespace {

std::map<cudaStream_t, std::shared_ptr<CUstream_st>>& streams() {
  static auto& all = *new std::map<cudaStream_t, std::shared_ptr<CUstream_st>>;
  return all;
}

std::uint64_t next_seed() {
  static std::atomic<std::uint64_t> count = 0;
  return ++count * 0x9E3779B97F4A7C15;
}

}  // namespace

CUstream_st::CUstream_st() : random_(next_seed()), thread_([this] { run(); }) {}

CUstream_st::~CUstream_st() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

void CUstream_st::add(Work work) {
  {
    const std::lock_guard lock(captures_mutex());
    if (capture) {
      ++capture->streams[this].added;
      return capture->work.push_back(std::move(work));
    }
  }
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  if (parked_) arrived_.notify_one();
}

void CUstream_st::help(const std::function<bool()>& enough) {
  std::unique_lock lock(mutex_);
  if (!busy_) do_row(lock, enough);
}

void CUstream_st::finish() {
  std::unique_lock lock(mutex_);
  while (busy_ || !work_.empty()) {
    if (!busy_) do_row(lock, [] { return false; });
    done_.wait(lock, [this] { return !busy_; });
  }
}

bool CUstream_st::idle() {
  const std::lock_guard lock(mutex_);
  return work_.empty() && !busy_;
}

void CUstream_st::hurry() {
  const std::lock_guard lock(mutex_);
  if (busy_ || work_.empty()) return;
  hurried_ = true;
  arrived_.notify_one();
}

// Sometimes pauses for long, so that independent streams overtake each other.
void CUstream_st::do_row(std::unique_lock<std::mutex>& lock, const std::function<bool()>& enough) {
  busy_ = true;
  {
    std::optional<Opened> opened;  // for a batch of work, because opening is slow
    while (!work_.empty() && !enough()) {
      const auto work = std::move(work_.front());
      work_.pop_front();
      const auto number = random();
      lock.unlock();
      if (number >> 58 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(100 + (number >> 32) % 300));
      if (!opened) opened.emplace(device);
      if (state() == cudaSuccess) work();
      lock.lock();
    }
  }
  busy_ = hurried_ = false;
  done_.notify_all();
}

// Always starts late, so that code that does not wait for the stream runs too early.
void CUstream_st::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    parked_ = true;
    arrived_.wait(lock, [this] { return !work_.empty() || ending_; });
    parked_ = false;
    if (work_.empty() && !busy_) return;
    const std::chrono::microseconds late(200 + (random() >> 32) % 800);
    arrived_.wait_for(lock, late, [this] { return hurried_ || ending_; });
    if (busy_)  // by another thread, which needs the lock
      done_.wait(lock, [this] { return !busy_; });
    else
      do_row(lock, [] { return false; });
  }
}

std::uint64_t CUstream_st::random() {
  return random_ = random_ * 6364136223846793005 + 1442695040888963407;
}

std::shared_ptr<CUstream_st> simulated::stream_of(cudaEvent_t event) {
  const std::lock_guard lock(captures_mutex());
  const auto found = streams().find(event->stream);
  return found == streams().end() ? nullptr : found->second;
}

void simulated::hurry_all() {
  const std::lock_guard lock(captures_mutex());
  for (const auto& [handle, stream] : streams()) stream->hurry();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (state() != cudaSuccess) return result_of();
  auto made = std::make_shared<CUstream_st>();
  *stream = made.get();
  const std::lock_guard lock(captures_mutex());
  streams().emplace(*stream, std::move(made));
  return result_of();
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (state() == cudaErrorInitializationError)
    return result_of();  // in a forked child: the thread belongs to the parent
  std::shared_ptr<CUstream_st>
      last;  // another thread may wait for the device: work is completed before destruction
  {
    const std::lock_guard lock(captures_mutex());
    const auto found = streams().find(stream);
    if (found == streams().end()) return result_of(cudaErrorInvalidResourceHandle);
    last = std::move(found->second);
    streams().erase(found);
  }
  return result_of();
}

// Streams here do not wait for other streams, unlike cudaStreamLegacy, which waits for those made
// without cudaStreamNonBlocking.
cudaStream_t simulated::own(cudaStream_t stream) {
  struct OfThread {
    std::map<int, cudaStream_t> of_device;
    ~OfThread() {
      for (const auto& [device, made] : of_device) cudaStreamDestroy(made);
    }
  };
  static auto& legacy = *new std::map<int, cudaStream_t>;
  static thread_local OfThread of_thread;
  static std::mutex mutex;
  if (stream != cudaStreamLegacy && stream != cudaStreamPerThread) return stream;
  const std::lock_guard lock(mutex);
  auto& made = (stream == cudaStreamLegacy ? legacy : of_thread.of_device)[current_device()];
  if (made == nullptr) cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
  return made;
}

void simulated::finish_device() {
  std::map<cudaStream_t, std::shared_ptr<CUstream_st>> all;
  {
    const std::lock_guard lock(captures_mutex());
    all = streams();
  }
  for (const auto& [handle, stream] : all)
    if (stream->device == current_device()) stream->finish();
}

cudaError_t cudaDeviceSynchronize() {
  if (state() != cudaSuccess) return result_of();
  if (refused_by_capture()) return result_of(cudaErrorStreamCaptureUnsupported);
  ++counters().synchronizations;
  {
    const std::lock_guard lock(captures_mutex());
    bool refused = false;  // breaks captures of any mode and thread
    for (const auto& [handle, stream] : streams())
      if (stream->capture && stream->device == current_device())
        stream->capture->broken = refused = true;
    if (refused) return result_of(cudaErrorStreamCaptureUnsupported);
  }
  finish_device();
  give_back_idle();
  return result_of();
}

static cudaError_t may_wait(cudaStream_t stream) {
  if (state() != cudaSuccess) return state();
  const std::lock_guard lock(captures_mutex());
  if (!stream->capture) return cudaSuccess;
  stream->capture->broken = true;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  stream = own(stream);
  if (const auto result = may_wait(stream); result != cudaSuccess) return result_of(result);
  ++counters().synchronizations;
  stream->finish();
  give_back_idle();
  return result_of();
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  stream = own(stream);
  if (const auto result = may_wait(stream); result != cudaSuccess) return result_of(result);
  return result_of(stream->idle() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (state() != cudaSuccess) return result_of();
  own(stream)->add([=] { function(data); });
  return result_of();
}
