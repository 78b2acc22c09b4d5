#include "plugin/device_kernel.hpp"

#include <doctest/doctest.h>

#include "device/cpu_device.hpp"
#include "device/recording_device.hpp"
#include "failure_of.hpp"

using namespace tenon;

TEST_CASE("kernel_on: finds an operator's kernel for a device, or explains that there is none") {
  CpuDevice cpu;
  RecordingDevice gpu(0);
  tenon_operator runs{}, backward_only{};
  runs.forward = [](void*, const tenon_call*) { return 0; };
  backward_only.backward = runs.forward;
  const struct {
    const tenon_operator *cpu, *cuda;
    const char* error;
    bool on_gpu;
    std::string message, hint;
  } rows[] = {
      {nullptr, nullptr, "", true, "there is no kernel for cuda in any plugin", ""},
      {&runs, nullptr, "", true, "there is no kernel for cuda in any plugin, but one for cpu",
       "move its inputs with .to(\"cpu\")"},
      {nullptr, &runs, "", false, "there is no kernel for cpu in any plugin, but one for cuda", ""},
      {&runs, &backward_only, "", true, "its kernel for cuda has no forward function", ""},
      {&runs, nullptr, "the cuda kernel cannot be used: reason", true,
       "the cuda kernel cannot be used: reason", ""},
      {&runs, nullptr, "", false, "", ""},
      {nullptr, &runs, "", true, "", ""},
  };
  for (const auto& row : rows) {
    LoadedOperator op;
    op.kernels[TENON_CPU] = row.cpu;
    op.kernels[TENON_CUDA] = row.cuda;
    op.kernel_error = row.error;
    const Device& device = row.on_gpu ? static_cast<Device&>(gpu) : cpu;
    CHECK((kernel_on(op, device) == &runs) == row.message.empty());
    if (row.message.empty()) continue;
    const auto failure = failure_of([&] { throw no_kernel_on(op, device); });
    CHECK(failure.message == row.message);
    CHECK(failure.hint == row.hint);
  }
}
