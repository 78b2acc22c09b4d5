#include "run/execution/stream_sync.hpp"

#include "run/execution/call_failure.hpp"

namespace tenon {

std::int32_t GpuStep::run(void* self, const tenon_call* call) {
  const auto& own = *static_cast<const GpuStep*>(self);
  return failure_to_call(*call, [&] {
    if (own.device != nullptr) own.device->make_current();
    if (own.begin != nullptr) own.begin->begin();
    if (const auto failed = own.step.function(own.step.instance, call)) return failed;
    if (own.end != nullptr) own.end->end();
    return 0;
  });
}

}  // namespace tenon
