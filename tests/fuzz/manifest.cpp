// Arbitrary bytes as the manifest of an operator.
#include <tenon/host/operator_info.hpp>

#include "accepts.hpp"
#include "target.hpp"

TENON_FUZZ_TARGET(manifest)(const std::uint8_t* bytes, std::size_t size) {
  accepts([&] { tenon::read_manifest(std::as_bytes(std::span(bytes, size))); },
          tenon::FailureKind::plugin);
  return 0;
}
