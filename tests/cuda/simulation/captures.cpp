// Graphs of simulated streams: captured work runs at each launch, and calls that CUDA rejects are
// rejected.
#include <doctest/doctest.h>

#include "gpu.hpp"

using namespace tenon;

namespace {

struct Add {
  int* data;
  int value;
  TENON_FN void operator()(std::int64_t i) const { data[i] += value; }
};
struct Twice {
  int* data;
  TENON_FN void operator()(std::int64_t i) const { data[i] *= 2; }
};

std::string name(cudaError_t error) {
  return cudaGetErrorName(error);
}

// Captures the work that `work` adds to the stream.
template <class WorkOnStream>
std::string captured(WorkOnStream work) {
  return in_child([&] {
    const Gpu gpu;
    tenon::gpu::require(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal));
    const std::string first = name(work(gpu));
    cudaGraph_t graph = nullptr;
    const std::string second = name(cudaStreamEndCapture(gpu.stream, &graph));
    return first + ' ' + second + (graph == nullptr ? "" : " graph");
  });
}

cudaEvent_t event() {
  cudaEvent_t made = nullptr;
  cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
  return made;
}

}  // namespace

TEST_CASE(
    "a graph runs its work at each launch and not during the capture, on all joined streams") {
  CHECK(in_child([] {
          const Gpu gpu, side;
          auto* data = gpu.memory<int>(1);
          gpu::clear(gpu.call(), data, sizeof(int));
          cudaStreamSynchronize(gpu.stream);
          const auto forked = event(), joined = event();
          tenon::gpu::require(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal));
          gpu::for_each(gpu.call(), 1, Add{data, 1});
          tenon::gpu::require(cudaEventRecord(forked, gpu.stream));
          tenon::gpu::require(cudaStreamWaitEvent(side.stream, forked));
          gpu::for_each(side.call(), 1, Twice{data});
          tenon::gpu::require(cudaEventRecord(joined, side.stream));
          tenon::gpu::require(cudaStreamWaitEvent(gpu.stream, joined));
          gpu::for_each(gpu.call(), 1, Add{data, 3});
          cudaGraph_t graph = nullptr;
          tenon::gpu::require(cudaStreamEndCapture(gpu.stream, &graph));
          cudaGraphExec_t runnable = nullptr;
          tenon::gpu::require(cudaGraphInstantiate(&runnable, graph));
          tenon::gpu::require(cudaGraphDestroy(graph));
          std::string found = std::to_string(gpu.read(data, 1)[0]);
          for (int i = 0; i < 2; ++i) tenon::gpu::require(cudaGraphLaunch(runnable, gpu.stream));
          found += ' ' + std::to_string(gpu.read(data, 1)[0]);
          found += ' ' + std::to_string(simulated_counts().launches);
          tenon::gpu::require(cudaGraphExecDestroy(runnable));
          return found;
        }) == "0 15 6");
}

TEST_CASE("calls that cannot be captured break the capture") {
  const std::string refused = "cudaErrorStreamCaptureUnsupported cudaErrorStreamCaptureInvalidated";
  CHECK(captured([](const Gpu&) { return cudaSuccess; }) == "cudaSuccess cudaSuccess graph");
  CHECK(captured([](const Gpu& gpu) { return cudaStreamSynchronize(gpu.stream); }) == refused);
  CHECK(captured([](const Gpu&) { return cudaDeviceSynchronize(); }) == refused);
  CHECK(captured([](const Gpu&) {
          void* memory = nullptr;
          return cudaHostAlloc(&memory, 8, cudaHostAllocPortable);
        }) == refused);
  CHECK(captured([](const Gpu& gpu) {
          void* memory = nullptr;
          return cudaMallocFromPoolAsync(&memory, 8, gpu.pool, gpu.stream);
        }) == refused);
}

TEST_CASE("a capture and other streams cannot depend on each other") {
  CHECK(captured([](const Gpu& gpu) {
          const Gpu other;
          const auto outside = event();
          cudaEventRecord(outside, other.stream);
          return cudaStreamWaitEvent(gpu.stream, outside);
        }) == "cudaErrorStreamCaptureIsolation cudaErrorStreamCaptureInvalidated");
  CHECK(captured([](const Gpu& gpu) {
          const auto inside = event();
          cudaEventRecord(inside, gpu.stream);
          return cudaEventSynchronize(inside);
        }) == "cudaErrorCapturedEvent cudaSuccess graph");
  CHECK(captured([](const Gpu& gpu) {
          const Gpu* const side = new Gpu;  // lives as long as the process
          const auto forked = event();
          cudaEventRecord(forked, gpu.stream);
          return cudaStreamWaitEvent(side->stream, forked);
        }) == "cudaSuccess cudaErrorStreamCaptureUnjoined");
}
