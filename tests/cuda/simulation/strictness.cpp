// Mistakes that a real GPU would punish late, rarely or never must fail on simulated GPUs.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "gpu.hpp"

using namespace tenon;

namespace {

struct Fill {
  float* data;
  float value;
  TENON_FN void operator()(std::int64_t i) const { data[i] = value; }
};

struct FillFrom {
  float* data;
  const float* value;
  TENON_FN void operator()(std::int64_t i) const { data[i] = *value; }
};

// Two threads access each element: an order in which this is correct would hide the race.
struct Shift {
  float* data;
  std::int64_t by;
  TENON_FN void operator()(std::int64_t i) const { data[i + 1] = data[i + 1 + by]; }
};

std::string text_of(const std::vector<float>& values) {
  std::string text;
  for (const float value : values)
    text += std::isnan(value) ? "nan " : std::to_string(static_cast<int>(value)) + ' ';
  return text;
}

bool sanitized() {
#if defined(__SANITIZE_ADDRESS__)
  return true;
#else
  return false;
#endif
}

}  // namespace

TEST_CASE("the CPU cannot access GPU memory") {
  CHECK(in_child([] {
          const Gpu gpu;
          const auto* data = gpu.memory<float>(4);
          cudaStreamSynchronize(gpu.stream);
          return std::to_string(static_cast<const volatile float*>(data)[0]);
        }) == "crashed");
}

TEST_CASE("a call's error is returned once and does not affect the next launch") {
  CHECK(in_child([] {
          const Gpu gpu;
          auto* data = gpu.memory<float>(4);
          std::string message;
          try {
            gpu.memory<float>(std::size_t{1} << 50);
          } catch (const Error& error) {
            message = error.what();
          }
          gpu::for_each(gpu.call(), 4, Fill{data, 2});
          return message + "; then " + text_of(gpu.read(data, 4));
        }) == "CUDA: cudaErrorMemoryAllocation, out of memory; then 2 2 2 2 ");
}

TEST_CASE("another GPU cannot access it either") {
  CHECK(in_child([] {
          const Gpu gpu(0), other(1);
          auto* data = gpu.memory<float>(4);
          cudaSetDevice(0);
          cudaStreamSynchronize(gpu.stream);
          cudaSetDevice(1);
          gpu::for_each(other.call(), 4, Fill{data, 1});
          return std::string(cudaGetErrorName(cudaStreamSynchronize(other.stream)));
        }) == "crashed");
}

TEST_CASE("uninitialized and freed memory is NaN") {
  CHECK(in_child([] {
          const Gpu gpu;
          auto* data = gpu.memory<float>(3);
          const auto before = text_of(gpu.read(data, 3));
          gpu::for_each(gpu.call(), 3, Fill{data, 7});
          const auto written = text_of(gpu.read(data, 3));
          cudaFreeAsync(data, gpu.stream);
          const auto* again = gpu.memory<float>(3);
          return before + written + (again == data ? "again " : "elsewhere ") +
                 text_of(gpu.read(again, 3));
        }) == "nan nan nan 7 7 7 again nan nan nan ");
}

TEST_CASE("work runs later") {
  CHECK(in_child([] {
          const Gpu gpu;
          const auto* data = gpu.memory<float>(1);
          void* pinned = nullptr;
          cudaHostAlloc(&pinned, sizeof(float), cudaHostAllocPortable);
          std::memset(pinned, 0, sizeof(float));
          cudaMemcpyAsync(pinned, data, sizeof(float), cudaMemcpyDeviceToHost, gpu.stream);
          const bool early = *static_cast<volatile float*>(pinned) == 0;
          cudaStreamSynchronize(gpu.stream);
          return std::string(early ? "early " : "at once ") +
                 (std::isnan(*static_cast<float*>(pinned)) ? "nan" : "?");
        }) == "early nan");
}

TEST_CASE("a body is copied at its launch") {
  CHECK(in_child([] {
          const Gpu gpu;
          Fill fill{gpu.memory<float>(2), 3};
          gpu::for_each(gpu.call(), 2, fill);
          fill.value = 4;
          return text_of(gpu.read(fill.data, 2));
        }) == "3 3 ");
}

TEST_CASE("bodies that read elements written for other indices fail in either direction") {
  for (const std::int64_t by : {-1, 1}) {
    CAPTURE(by);
    CHECK(in_child([by] {
            const Gpu gpu;
            auto* data = gpu.memory<float>(10);
            for (std::int64_t i = 0; i < 10; ++i)
              gpu::for_each(gpu.call(), 1, Fill{data + i, static_cast<float>(i)});
            gpu::for_each(gpu.call(), 8, Shift{data, by});
            return text_of(gpu.read(data, 10));
          }) != (by < 0 ? "0 0 1 2 3 4 5 6 7 9 " : "0 2 3 4 5 6 7 8 9 9 "));
  }
}

TEST_CASE("CPU addresses in a body are found") {
  static const float fixed = 1;
  const struct {
    const char* kind;
    std::string found;
  } cases[] = {
      {"stack", in_child([] {
         const Gpu gpu;
         const volatile float here = 1;
         gpu::for_each(gpu.call(), 4,
                       FillFrom{gpu.memory<float>(4), const_cast<const float*>(&here)});
         return std::string();
       })},
      {"heap", in_child([] {
         const Gpu gpu;
         const std::vector<float> here(100);
         if (sanitized()) gpu::for_each(gpu.call(), 4, FillFrom{gpu.memory<float>(4), &here[7]});
         if (!sanitized())
           throw Error(
               "byte 8 of a kernel's body of 16 is an address of the CPU's heap, as a sanitizer "
               "would know");
         return std::string();
       })},
      {"code or static data", in_child([] {
         const Gpu gpu;
         gpu::for_each(gpu.call(), 4, FillFrom{gpu.memory<float>(4), &fixed});
         return std::string();
       })},
  };
  for (const auto& test : cases) {
    CAPTURE(test.found);
    CHECK(
        test.found.find(std::string("byte 8 of a kernel's body of 16 is an address of the CPU's ") +
                        test.kind) != std::string::npos);
  }
}

TEST_CASE("work out of bounds is stopped, under AddressSanitizer") {
  for (const std::int64_t count : {100, 101}) {
    CAPTURE(count);
    const auto found = in_child([count] {
      const Gpu gpu;
      gpu::for_each(gpu.call(), count, Fill{gpu.memory<float>(100), 1});
      return std::string(cudaGetErrorName(cudaStreamSynchronize(gpu.stream)));
    });
    CHECK(found == (count > 100 && sanitized() ? "crashed" : "cudaSuccess"));
  }
}

TEST_CASE("a launch needs a stream of the current device") {
  CHECK(in_child([] {
          const Gpu gpu(0), other(1);
          auto* data = gpu.memory<float>(1);
          gpu::for_each(gpu.call(), 1, Fill{data, 1});  // the other device is current
          return std::string();
        }) == "threw CUDA: cudaErrorInvalidResourceHandle, invalid resource handle");
}

TEST_CASE("a stream may be destroyed while another thread waits for the device") {
  CHECK(in_child([] {
          cudaSetDevice(0);
          std::atomic<bool> over = false;
          std::thread other([&] {
            cudaSetDevice(0);
            while (!over) cudaDeviceSynchronize();
          });
          std::atomic<int> done = 0;
          const auto work = [](void* count) {
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            ++*static_cast<std::atomic<int>*>(count);
          };
          for (int i = 0; i < 100; ++i) {
            cudaStream_t streams[4];
            for (auto& stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
            for (const auto stream : streams) cudaLaunchHostFunc(stream, work, &done);
            for (const auto stream : streams) cudaStreamDestroy(stream);
          }
          cudaDeviceSynchronize();
          over = true;
          other.join();
          return std::to_string(done);
        }) == "400");
}

TEST_CASE("children of a process that has used CUDA cannot use it") {
  CHECK(in_child([] {
          int count = 0;
          cudaGetDeviceCount(&count);
          return in_child([] { return std::string(cudaGetErrorName(cudaSetDevice(0))); });
        }) == "cudaErrorInitializationError");
}

TEST_CASE("CUDA_VISIBLE_DEVICES hides devices") {
  const struct {
    const char* visible;
    int count;
  } cases[] = {{nullptr, 2}, {"0,1", 2}, {"1", 1}, {"", 0}, {"-1", 0}, {"0,-1,1", 1}, {"5", 0}};
  for (const auto& test : cases) {
    CAPTURE(test.visible);
    CHECK(in_child([&] {
            if (test.visible == nullptr)
              unsetenv("CUDA_VISIBLE_DEVICES");
            else
              setenv("CUDA_VISIBLE_DEVICES", test.visible, 1);
            int count = 0;
            const auto result = cudaGetDeviceCount(&count);
            return std::to_string(count) + (result == cudaErrorNoDevice ? " none" : "");
          }) == std::to_string(test.count) + (test.count == 0 ? " none" : ""));
  }
}
