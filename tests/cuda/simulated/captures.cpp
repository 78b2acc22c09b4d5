#include <set>
#include <utility>

#include "stream.hpp"

using namespace simulated;

namespace {

// Captures in progress whose mode is not relaxed.
std::set<std::shared_ptr<Capture>>& watchful() {
  static auto& all = *new std::set<std::shared_ptr<Capture>>;
  return all;
}

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

bool concerns_this_thread(const Capture& capture) {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return false;
  if (capture.thread == std::this_thread::get_id()) return true;
  return thread_mode == cudaStreamCaptureModeGlobal && capture.mode == cudaStreamCaptureModeGlobal;
}

cudaError_t fault_of(const Capture& capture) {
  if (capture.broken) return cudaErrorStreamCaptureInvalidated;
  for (const auto& [stream, progress] : capture.streams)
    if (stream != capture.origin && progress.joined < progress.added)
      return cudaErrorStreamCaptureUnjoined;
  return cudaSuccess;
}

// The streams leave the capture.
void end(Capture& capture) {
  capture.ended = true;
  for (const auto& [stream, progress] : capture.streams) stream->capture = nullptr;
}

}  // namespace

std::mutex& simulated::captures_mutex() {
  static auto& only = *new std::mutex;
  return only;
}

bool simulated::refused_by_capture() {
  const std::lock_guard lock(captures_mutex());
  bool refused = false;
  for (const auto& capture : watchful()) {
    if (!concerns_this_thread(*capture)) continue;
    capture->broken = refused = true;
  }
  return refused;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (state() != cudaSuccess) return result_of();
  const std::lock_guard lock(captures_mutex());
  if (stream->capture) return result_of(cudaErrorIllegalState);
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream;
  stream->capture->mode = mode;
  stream->capture->thread = std::this_thread::get_id();
  stream->capture->streams[stream];
  if (mode != cudaStreamCaptureModeRelaxed) watchful().insert(stream->capture);
  return result_of();
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (state() != cudaSuccess) return result_of();
  const std::lock_guard lock(captures_mutex());
  const auto capture = stream->capture;
  if (!capture) return result_of(cudaErrorIllegalState);
  if (capture->origin != stream) return result_of(cudaErrorStreamCaptureUnmatched);
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id())
    return result_of(cudaErrorStreamCaptureWrongThread);
  const auto fault = fault_of(*capture);
  if (fault != cudaSuccess) ++counters().broken_captures;
  end(*capture);
  watchful().erase(capture);
  if (fault == cudaSuccess) *graph = new CUgraph_st{std::move(capture->work)};
  return result_of(fault);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (state() != cudaSuccess) return result_of();
  stream = own(stream);
  const std::lock_guard lock(captures_mutex());
  *status = !stream->capture          ? cudaStreamCaptureStatusNone
            : stream->capture->broken ? cudaStreamCaptureStatusInvalidated
                                      : cudaStreamCaptureStatusActive;
  return result_of();
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  *mode = std::exchange(thread_mode, *mode);
  return result_of();
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long) {
  if (state() != cudaSuccess) return result_of();
  *runnable = new CUgraphExec_st{std::make_shared<const std::vector<Work>>(graph->work)};
  return result_of();
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return result_of();
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t stream) {
  if (state() != cudaSuccess) return result_of();
  ++counters().graph_launches;
  stream->add([work = runnable->work] {
    for (const auto& each : *work)
      if (state() == cudaSuccess) each();
  });
  return result_of();
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable) {
  delete runnable;
  return result_of();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return result_of();
}
