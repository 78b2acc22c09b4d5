#include "device/devices.hpp"

#include <doctest/doctest.h>

#include <string>

#include "check_says.hpp"
#include "device/cuda_state.hpp"
#include "device/device.hpp"
#include "failure_of.hpp"

using namespace tenon;

TEST_CASE("devices: the CPU is always the first") {
  REQUIRE(!devices().empty());
  Device& cpu = *devices().front();
  CHECK(&cpu == &cpu_device());
  CHECK(&find_device("cpu") == &cpu);
  CHECK(cpu.name() == "cpu");
  CHECK(cpu.type() == 1);
  CHECK(cpu.id() == 0);
  CHECK(!cpu.properties().model.empty());
  CHECK(cpu.properties().processors >= 1);
  CHECK(cpu.memory().free > 0);
  CHECK(cpu.memory().free <= cpu.memory().total);
}

TEST_CASE("devices: CUDA devices have their numbers in their names and are found by them") {
  const auto& cuda = cuda_state();
  CHECK(devices().size() == 1 + cuda.devices.size());
  CHECK((cuda.status == CudaStatus::usable) == cuda.reason.empty());
  for (std::size_t i = 0; i < cuda.devices.size(); ++i) {
    Device& device = *cuda.devices[i];
    CHECK(device.name() == "cuda:" + std::to_string(i));
    CHECK(device.type() == 2);
    CHECK(device.id() == static_cast<int>(i));
    CHECK(&find_device(device.name()) == &device);
  }
  if (!cuda.devices.empty()) CHECK(&find_device("cuda") == cuda.devices.front().get());
}

TEST_CASE("devices: the error for an unknown device lists the available ones") {
  const auto& cuda = cuda_state();
  const bool usable = cuda.status == CudaStatus::usable;
  for (const std::string name :
       {"", "gpu", "CPU", "cpu:0", "cuda:99", "cuda:", "cuda:-1", "cuda:00", "cudaa"}) {
    CAPTURE(name);
    const auto failure = failure_of([&] { find_device(name); });
    CHECK(failure.kind == 2);
    const std::string start = "there is no device '" + name + "': ";
    if (name.starts_with("cuda") && !usable)
      CHECK(failure.message == start + cuda.reason);
    else if (usable)
      CHECK(failure.message.starts_with(start + "this machine has cpu"));
    else
      CHECK(failure.message == start + "this machine has cpu");
  }
}

TEST_CASE("devices: reports why CUDA cannot be used") {
  const struct {
    CudaQueryResult answer;
    CudaStatus status;
    const char* reason;
  } cases[] = {
      {{}, CudaStatus::not_built, "Tenon was built without the CUDA toolkit"},
      {{13000, 0, 0, "cudaErrorInsufficientDriver (x)", nullptr},
       CudaStatus::no_driver,
       "this machine has no CUDA driver (libcuda.so.1)"},
      {{13000, 12040, 0, "cudaErrorInsufficientDriver (x)", nullptr},
       CudaStatus::old_driver,
       "the driver supports CUDA up to 12.4, but Tenon was built with CUDA 13.0"},
      {{13000, 13010, 0, "cudaErrorNoDevice (x)", nullptr},
       CudaStatus::no_device,
       "the CUDA driver (13.1) finds no device"},
      {{13000, 13010, 0, "", nullptr},
       CudaStatus::no_device,
       "the CUDA driver (13.1) finds no device"},
      {{13000, 13010, 0, "cudaErrorNoDevice (x)", "7"},
       CudaStatus::no_device,
       "the CUDA driver (13.1) finds no device, and CUDA_VISIBLE_DEVICES is '7'"},
      {{13000, 13010, 0, "cudaErrorSystemNotReady (system not yet initialized)", nullptr},
       CudaStatus::broken,
       "CUDA cannot be initialized: cudaErrorSystemNotReady (system not yet initialized)"},
      {{13000, 13000, 2, "", nullptr}, CudaStatus::usable, ""},
      {{13000, 13000, 2, "", "0,1"}, CudaStatus::usable, ""},
  };
  for (const auto& test : cases) {
    const auto state = classify(test.answer);
    CHECK(state.status == test.status);
    CHECK(state.reason == test.reason);
    CHECK(state.runtime == test.answer.runtime);
    CHECK(state.driver == test.answer.driver);
  }
}

TEST_CASE("devices: out of memory reports what was needed and what was free") {
  const auto failure = failure_of([] {
    throw out_of_memory("cuda:1", "the plan", std::uint64_t{3} << 30,
                        {std::uint64_t{1} << 30, std::uint64_t{79} << 30});
  });
  CHECK(failure.kind == 1);
  check_says(failure.message,
             {"cuda:1 is out of memory", "the plan needs 3.0 GiB", "1.0 GiB of 79.0 GiB are free"});
  CHECK(failure.hint == "use a smaller batch; the plan reports the memory it needs");
}

TEST_CASE("devices: applications see the same devices as plain data") {
  const auto infos = list_devices();
  REQUIRE(infos.size() == devices().size());
  for (std::size_t i = 0; i < infos.size(); ++i) {
    CHECK(infos[i].name == devices()[i]->name());
    CHECK(infos[i].error == "");
    CHECK(infos[i].model == devices()[i]->properties().model);
    CHECK(infos[i].total == devices()[i]->memory().total);
    CHECK(device_name(infos[i].name) == infos[i].name);
  }
  const auto info = cuda_info();
  const auto& known = cuda_state();
  CHECK(std::tie(info.status, info.runtime, info.driver, info.reason, info.hint) ==
        std::tie(known.status, known.runtime, known.driver, known.reason, known.hint));
  CHECK(info.reason.empty() == (info.status == CudaStatus::usable));
  CHECK(failure_of([] { device_name("tpu"); }).kind == 2);
}
