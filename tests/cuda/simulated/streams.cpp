#include <chrono>
#include <set>

#include "device.hpp"

CUstream_st::CUstream_st() : thread_([this] { run(); }) {}

CUstream_st::~CUstream_st() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CUstream_st::add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_all();
}

void CUstream_st::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return work_.empty() && !busy_; });
}

void CUstream_st::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !work_.empty() || ending_; });
    if (work_.empty()) return;
    const auto work = std::move(work_.front());
    work_.pop_front();
    busy_ = true;
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    if (result_of() == cudaSuccess) work();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

static std::mutex streams_mutex;
static std::set<cudaStream_t> streams;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const std::lock_guard lock(streams_mutex);
  *stream = *streams.insert(new CUstream_st).first;
  return result_of();
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(streams_mutex);
  streams.erase(stream);
  delete stream;
  return result_of();
}

cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard lock(streams_mutex);
  for (const auto stream : streams)
    if (stream->device == current_device()) stream->finish();
  return result_of();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  stream->finish();
  return result_of();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::lock_guard lock(event->marks->mutex);
  stream->add([marks = event->marks, goal = event->marks->recorded] {
    std::unique_lock lock(marks->mutex);
    marks->changed.wait(lock, [&] { return marks->reached >= goal; });
  });
  return result_of();
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  stream->add([=] { function(data); });
  return result_of();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return result_of();
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return result_of();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (event->device != stream->device) return result_of(cudaErrorInvalidResourceHandle);
  const std::lock_guard lock(event->marks->mutex);
  stream->add([marks = event->marks, goal = ++event->marks->recorded] {
    const std::lock_guard lock(marks->mutex);
    marks->reached = goal;
    marks->changed.notify_all();
  });
  return result_of();
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(event->marks->mutex);
  return result_of(event->marks->reached == event->marks->recorded ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  std::unique_lock lock(event->marks->mutex);
  event->marks->changed.wait(lock, [&, goal = event->marks->recorded] { return event->marks->reached >= goal; });
  return result_of();
}
