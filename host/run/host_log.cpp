#include <fmt/format.h>
#include <tenon/abi.h>

#include "io/crash/active_call.hpp"
#include "io/utf8.hpp"
#include "run/host_impl.hpp"

namespace tenon {

// Prefixes `[rope] node 'r': no cache` with the kernel that runs on this thread.
void HostLog::add(std::int32_t level, std::string_view text) {
  const auto* slot = CallSlot::here_if_any();
  const auto* call = slot == nullptr ? nullptr : slot->current();
  std::string line = call == nullptr ? std::string() : fmt::format("[{}]", call->owner->op);
  if (call != nullptr && call->node != nullptr) line += fmt::format(" node '{}'", call->node);
  line += (line.empty() ? "" : ": ") + printable(text);
  if (level >= TENON_LOG_WARNING)
    warnings_.once(line, line);
  else if (log_)
    log_(line);
}

}  // namespace tenon
