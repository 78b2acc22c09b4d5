#include "isolate/worker/landlock.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace tenon::isolate {
namespace {

// The kernel's numbers: its header may be older than it is.
constexpr long create_ruleset_call = 444, add_rule_call = 445, restrict_self_call = 446;
constexpr std::uint32_t ask_version = 1, path_beneath = 1;
constexpr std::uint64_t execute = 1, read_file = 4, read_folder = 8;

struct Ruleset {
  std::uint64_t files, network, scoped;
};
struct [[gnu::packed]] PathRule {
  std::uint64_t allowed;
  std::int32_t folder;
};

/// All that this version knows: another one refuses bits that it does not.
Ruleset all_of(long version) {
  Ruleset all{};
  all.files = (std::uint64_t{1} << 13) - 1;
  if (version >= 2) all.files |= 1u << 13;
  if (version >= 3) all.files |= 1u << 14;
  if (version >= 4) all.network = 3;
  if (version >= 5) all.files |= 1u << 15;
  if (version >= 6) all.scoped = 3;  // abstract sockets and signals
  return all;
}

std::size_t size_of_ruleset(long version) {
  return version >= 6 ? 24 : version >= 4 ? 16 : 8;
}

void allow_reading(int rules) {
  const int root = open("/", O_PATH | O_CLOEXEC);
  const PathRule rule{execute | read_file | read_folder, root};
  syscall(add_rule_call, rules, path_beneath, &rule, 0);
  close(root);
}

}  // namespace

bool forbid_files(Files allowed) {
  const long version = syscall(create_ruleset_call, nullptr, 0, ask_version);
  if (version < 1) return false;
  const auto all = all_of(version);
  const auto rules = static_cast<int>(syscall(create_ruleset_call, &all, size_of_ruleset(version), 0));
  if (rules < 0) return false;
  if (allowed == Files::read) allow_reading(rules);
  const bool done = syscall(restrict_self_call, rules, 0) == 0;
  close(rules);
  return done;
}

}  // namespace tenon::isolate
