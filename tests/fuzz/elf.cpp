// Arbitrary bytes as a file in a plugin folder: it gets a status and, unless it is usable, a
// reason. None of its code runs.
#include "accepts.hpp"
#include "file_of.hpp"
#include "plugin/discovery/candidate.hpp"
#include "target.hpp"

TENON_FUZZ_TARGET(elf)(const std::uint8_t* bytes, std::size_t size) {
  const FileOf file(bytes, size);
  const auto candidate = tenon::read_candidate(file.path(), [](const tenon::InputFile&) {});
  if (!candidate.file.usable() && candidate.file.reason.empty()) std::abort();
  if (!candidate.file.usable() && !candidate.operators.empty()) std::abort();
  return 0;
}
