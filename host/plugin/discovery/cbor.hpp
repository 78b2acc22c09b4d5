// A manifest's CBOR as a tree. What a tree may hold is what manifests need: null, booleans, numbers, texts, lists, maps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon {

struct CborValue {
  enum class Kind : std::uint8_t { null, boolean, integer, number, text, list, map };

  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<CborValue> items;   ///< of a list; of a map, the values
  std::vector<std::string> keys;  ///< of a map, as many as items, each once
};

/// Reads one value that fills `bytes`. Throws Failure (plugin) with the byte that stops it. Depth and sizes are limited, so that no bytes
/// can cost more than a few times their size in memory.
CborValue read_cbor(std::span<const std::byte> bytes);

}  // namespace tenon
