#include <chrono>

#include "memory.hpp"
#include "stream.hpp"

using namespace simulated;

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (state() != cudaSuccess) return result_of();
  *event = new CUevent_st;
  return result_of();
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return result_of();
}

// Records the event in the stream's capture; returns false if the stream is not capturing.
static bool record_in_capture(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(captures_mutex());
  event->capture = stream->capture;
  event->stream = stream;
  if (!stream->capture) return false;
  event->added = stream->capture->streams[stream].added;
  return true;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (state() != cudaSuccess) return result_of();
  stream = own(stream);
  if (event->device != stream->device) return result_of(cudaErrorInvalidResourceHandle);
  if (record_in_capture(event, stream)) return result_of();
  const auto mark = std::make_shared<Mark>();
  {
    const std::lock_guard lock(event->mutex);
    event->mark = mark;
  }
  stream->add([mark] {
    const std::lock_guard lock(mark->mutex);
    mark->reached = true;
    mark->changed.notify_all();
  });
  return result_of();
}

// The stream joins the event's capture. Nothing else is needed, because work in a capture is
// ordered.
static cudaError_t wait_in_capture(cudaStream_t stream, cudaEvent_t event) {
  Capture& capture = *event->capture;
  if (capture.ended) return cudaErrorInvalidValue;
  if (stream->capture && stream->capture != event->capture) {
    stream->capture->broken = capture.broken = true;
    return cudaErrorStreamCaptureMerge;
  }
  auto& joined = capture.streams[event->stream].joined;
  joined = std::max(joined, event->added);
  if (!stream->capture) stream->capture = event->capture;
  if (event->stream != stream) ++capture.streams[stream].added;  // a new dependency
  return cudaSuccess;
}

// Returns null if the event was never recorded, so there is nothing to wait for.
static std::shared_ptr<Mark> mark_of(cudaEvent_t event) {
  const std::lock_guard lock(event->mutex);
  return event->mark;
}

static bool is_reached(Mark& mark) {
  const std::lock_guard lock(mark.mutex);
  return mark.reached;
}

static void wait_for(Mark& mark) {
  if (is_reached(mark)) return;
  hurry_all();
  std::unique_lock lock(mark.mutex);
  while (!mark.reached && state() == cudaSuccess)
    mark.changed.wait_for(lock, std::chrono::milliseconds(10));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (state() != cudaSuccess) return result_of();
  const auto mark = mark_of(event);
  {
    const std::lock_guard lock(captures_mutex());
    if (event->capture) return result_of(wait_in_capture(stream, event));
    if (stream->capture && mark) {
      stream->capture->broken = true;
      return result_of(cudaErrorStreamCaptureIsolation);
    }
  }
  if (mark) stream->add([mark] { wait_for(*mark); });
  return result_of();
}

static bool was_captured(cudaEvent_t event) {
  const std::lock_guard lock(captures_mutex());
  return event->capture != nullptr;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (state() != cudaSuccess) return result_of();
  if (was_captured(event)) return result_of(cudaErrorCapturedEvent);
  if (refused_by_capture()) return result_of(cudaErrorStreamCaptureUnsupported);
  const auto mark = mark_of(event);
  return result_of(!mark || is_reached(*mark) ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (state() != cudaSuccess) return result_of();
  if (was_captured(event)) return result_of(cudaErrorCapturedEvent);
  ++counters().synchronizations;
  if (const auto mark = mark_of(event)) {
    if (const auto stream = stream_of(event)) stream->help([&] { return is_reached(*mark); });
    wait_for(*mark);
  }
  give_back_idle();
  return result_of();
}
