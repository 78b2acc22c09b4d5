#include <algorithm>
#include <chrono>

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

// Into the capture that the stream is in; false: it is in none.
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
  if (event->device != stream->device) return result_of(cudaErrorInvalidResourceHandle);
  if (record_in_capture(event, stream)) return result_of();
  std::uint64_t goal = 0;
  {
    const std::lock_guard lock(event->marks->mutex);
    goal = ++event->marks->recorded;
  }
  stream->add([marks = event->marks, goal] {
    const std::lock_guard lock(marks->mutex);
    marks->reached = std::max(marks->reached, goal);
    marks->changed.notify_all();
  });
  return result_of();
}

// The stream becomes part of the event's capture; nothing else needs be done, for a capture's work has an order.
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
  if (event->stream != stream) ++capture.streams[stream].added;  // it depends on something new
  return cudaSuccess;
}

static bool is_reached(Marks& marks, std::uint64_t goal) {
  const std::lock_guard lock(marks.mutex);
  return marks.reached >= goal;
}

static void wait_for(Marks& marks, std::uint64_t goal) {
  if (is_reached(marks, goal)) return;
  hurry_all();
  std::unique_lock lock(marks.mutex);
  while (marks.reached < goal && state() == cudaSuccess) marks.changed.wait_for(lock, std::chrono::milliseconds(10));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (state() != cudaSuccess) return result_of();
  std::uint64_t goal = 0;
  {
    const std::lock_guard lock(event->marks->mutex);
    goal = event->marks->recorded;
  }
  {
    const std::lock_guard lock(captures_mutex());
    if (event->capture) return result_of(wait_in_capture(stream, event));
    if (stream->capture && goal > 0) {
      stream->capture->broken = true;
      return result_of(cudaErrorStreamCaptureIsolation);
    }
  }
  if (goal == 0) return result_of();  // it was never recorded: there is nothing to wait for
  stream->add([marks = event->marks, goal] { wait_for(*marks, goal); });
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
  const std::lock_guard lock(event->marks->mutex);
  return result_of(event->marks->reached == event->marks->recorded ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (state() != cudaSuccess) return result_of();
  if (was_captured(event)) return result_of(cudaErrorCapturedEvent);
  ++counters().synchronizations;
  std::uint64_t goal = 0;
  {
    const std::lock_guard lock(event->marks->mutex);
    goal = event->marks->recorded;
  }
  if (const auto stream = stream_of(event)) stream->help([&] { return is_reached(*event->marks, goal); });
  wait_for(*event->marks, goal);
  return result_of();
}
