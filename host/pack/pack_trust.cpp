// Decides which packs may be opened: those with a trusted hash.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tenon/host/trust.hpp>

#include "io/open_file.hpp"
#include "io/sha256.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"
#include "pack/pack_list.hpp"

namespace tenon {
namespace {

constexpr const char* how_to_trust =
    "pass the pack's hash, which `tenon pack` printed and `sha256sum` prints, or add it to your "
    "trusted hashes with `tenon trust add` if "
    "you know where the pack comes from";

std::size_t read_some(const OpenFile& file, std::uint64_t offset, std::span<std::byte> bytes,
                      const std::filesystem::path& path) {
  for (;;) {
    const auto bytes_read =
        pread(file.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (bytes_read >= 0) return static_cast<std::size_t>(bytes_read);
    if (errno != EINTR) throw file_failure("read", path, system_reason(errno));
  }
}

/// The user-provided hash; empty if there is none.
std::string expected_sum(const std::string& text) {
  constexpr std::string_view kind = "sha256:";
  auto sum = text.starts_with(kind) ? text.substr(kind.size()) : text;
  if (!text.empty() && !is_sha256(sum))
    throw Failure(
        FailureKind::usage,
        fmt::format("'{}' is not a pack's hash: it must be sha256: and 64 digits of 0-9 and a-f",
                    printable(text)));
  return sum;
}

}  // namespace

std::string sum_of_pack(const std::filesystem::path& path,
                        const std::function<void(std::span<const std::byte>)>& on_chunk) {
  const auto file = OpenFile::for_reading(path);
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  Sha256 sum;
  for (std::uint64_t offset = 0;;) {
    const auto bytes = std::span(buffer).first(read_some(file, offset, buffer, path));
    if (bytes.empty()) return sum.hexadecimal();
    sum.add(bytes);
    if (on_chunk) on_chunk(bytes);
    offset += bytes.size();
  }
}

bool is_pack(const std::filesystem::path& path) {
  const std::string name = pack_list_name;
  try {
    std::string begin(30 + name.size(), '\0');
    read_some(OpenFile::for_reading(path), 0, std::as_writable_bytes(std::span(begin)), path);
    return begin.starts_with("PK\3\4") && begin.ends_with(name);
  } catch (const Failure&) {
    return false;
  }
}

std::string require_trusted_pack(const std::filesystem::path& path, const PackTrust& trust) {
  const auto expected = expected_sum(trust.sha256);
  auto sum = sum_of_pack(path);
  if (!expected.empty()) {
    if (expected == sum) return sum;
    throw Failure(FailureKind::file,
                  fmt::format("{} is not the trusted pack: its SHA-256 is {}, not {}",
                              path.string(), sum, expected));
  }
  const auto listed = trusted_plugins(trust.config);
  if (std::any_of(listed.begin(), listed.end(),
                  [&](const TrustedPlugin& entry) { return entry.sha256 == sum; }))
    return sum;
  throw Failure(
      FailureKind::file,
      path.string() +
          " is a pack, which holds code: its hash must be trusted, but no hash was passed",
      how_to_trust);
}

}  // namespace tenon
