#include "state.hpp"

#include <pthread.h>

#include <mutex>
#include <string>
#include <utility>

#include "cuda_simulated.h"

namespace simulated {
namespace {

struct Loss {
  std::mutex mutex;
  std::string reason;  // of the error that every call returns
};
Loss& loss() {
  static auto& only = *new Loss;  // never destroyed: threads of streams may outlive main()
  return only;
}

std::atomic<cudaError_t> lost = cudaSuccess;
thread_local cudaError_t last = cudaSuccess;

// A driver does not survive fork(): its threads do not exist in the child.
void refuse_children() {
  static const int done =
      pthread_atfork(nullptr, nullptr, [] { lost = cudaErrorInitializationError; });
  static_cast<void>(done);
}

struct Meaning {
  cudaError_t error;
  const char *name, *text;
};
#define NAMED(error) error, #error
constexpr Meaning meanings[] = {
    {NAMED(cudaSuccess), "no error"},
    {NAMED(cudaErrorInvalidValue), "invalid argument"},
    {NAMED(cudaErrorMemoryAllocation), "out of memory"},
    {NAMED(cudaErrorInitializationError), "initialization error"},
    {NAMED(cudaErrorNoDevice), "no CUDA-capable device is detected"},
    {NAMED(cudaErrorInvalidDevice), "invalid device ordinal"},
    {NAMED(cudaErrorInvalidResourceHandle), "invalid resource handle"},
    {NAMED(cudaErrorNotReady), "device not ready"},
    {NAMED(cudaErrorIllegalAddress), "an illegal memory access was encountered"},
    {NAMED(cudaErrorPeerAccessNotEnabled), "peer access has not been enabled"},
    {NAMED(cudaErrorLaunchFailure), "unspecified launch failure"},
    {NAMED(cudaErrorNotSupported), "operation not supported"},
    {NAMED(cudaErrorStreamCaptureUnsupported), "operation not permitted when stream is capturing"},
    {NAMED(cudaErrorStreamCaptureInvalidated),
     "operation failed due to a previous error during capture"},
    {NAMED(cudaErrorStreamCaptureMerge),
     "operation would result in a merge of separate capture sequences"},
    {NAMED(cudaErrorStreamCaptureUnmatched),
     "capture was not ended in the same stream as it began"},
    {NAMED(cudaErrorStreamCaptureUnjoined), "capturing stream has unjoined work"},
    {NAMED(cudaErrorStreamCaptureIsolation),
     "dependency created on uncaptured work in another stream"},
    {NAMED(cudaErrorCapturedEvent),
     "operation not permitted on an event last recorded in a capturing stream"},
    {NAMED(cudaErrorStreamCaptureWrongThread),
     "attempt to terminate a thread-local capture sequence from another thread"},
};
#undef NAMED

const Meaning* meaning_of(cudaError_t error) {
  for (const auto& meaning : meanings)
    if (meaning.error == error) return &meaning;
  return nullptr;
}

}  // namespace

cudaError_t state() {
  refuse_children();
  return lost;
}

cudaError_t result_of(cudaError_t error) {
  if (const auto found = state(); found != cudaSuccess) error = found;
  if (error != cudaSuccess) last = error;
  return error;
}

Counters& counters() {
  static Counters only;
  return only;
}

}  // namespace simulated

using namespace simulated;

SimulatedCounts simulated_counts() {
  const Counters& now = counters();
  return {now.launches,         now.copies,         now.allocations,     now.mappings,
          now.synchronizations, now.graph_launches, now.broken_captures, now.overlaps};
}

void simulated_lose_device(cudaError_t error, const std::string& reason) {
  const std::lock_guard lock(loss().mutex);
  if (lost != cudaSuccess) return;  // keep the first error
  loss().reason = reason;
  lost = error;
}

const char* cudaGetErrorName(cudaError_t error) {
  const auto* found = meaning_of(error);
  return found ? found->name : "cudaError";
}

const char* cudaGetErrorString(cudaError_t error) {
  if (error == lost && error != cudaErrorInitializationError && error != cudaSuccess)
    return loss().reason.c_str();
  const auto* found = meaning_of(error);
  return found ? found->text : "simulated";
}

cudaError_t cudaGetLastError() {
  return std::exchange(last, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  return last;
}
