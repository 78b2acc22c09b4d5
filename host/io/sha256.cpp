#include "io/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tenon {

std::string Sha256::hexadecimal() {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&state_, digest.size(), digest.data());
  std::string text;
  for (const auto byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

bool is_sha256(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == std::size_t{2} * SHA256_DIGEST_SIZE &&
         std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace tenon
