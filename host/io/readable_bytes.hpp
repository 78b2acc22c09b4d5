// Numbers of bytes as people read them.
#pragma once
#include <cstdint>
#include <string>

namespace tenon {

/// `17 B`, `4.0 KiB`, `1.5 GiB`: one decimal place, cut, not rounded.
std::string readable_bytes(std::uint64_t bytes);

}  // namespace tenon
