#include <fmt/format.h>
#include <tenon/abi.h>

#include "io/crash/running.hpp"
#include "io/utf8.hpp"
#include "run/host_impl.hpp"

namespace tenon {

// Prefixes `[rope] node 'r': no cache` with the kernel that runs on this thread.
void HostLog::add(std::int32_t level, std::string_view text) {
  const auto* slot = RunningSlot::here_if_any();
  const auto* running = slot == nullptr ? nullptr : slot->now();
  std::string line = running == nullptr ? std::string() : fmt::format("[{}]", running->owner->op);
  if (running != nullptr && running->node != nullptr)
    line += fmt::format(" node '{}'", running->node);
  line += (line.empty() ? "" : ": ") + printable(text);
  if (level >= TENON_LOG_WARNING)
    warnings_.once(line, line);
  else if (log_)
    log_(line);
}

}  // namespace tenon
