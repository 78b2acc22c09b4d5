// Arbitrary bytes as the request of a worker process while a gradient is built: it is read
// completely or rejected. Names, inputs and parameters are traversed to their ends.
#include <numeric>
#include <tenon/host/tensor.hpp>

#include "isolate/requests.hpp"
#include "target.hpp"

using namespace tenon::isolate;

TENON_FUZZ_TARGET(protocol)(const std::uint8_t* bytes, std::size_t size) {
  std::vector<std::uint64_t> aligned(size / 8 + 1);  // like real messages
  if (size > 0) std::memcpy(aligned.data(), bytes, size);
  std::uint64_t sum = 0;
  try {
    const auto callback = read_message<AddCallback>(std::as_bytes(std::span(aligned)).first(size));
    for (const char letter : callback.name) sum += static_cast<unsigned char>(letter);
    for (const auto input : callback.inputs) sum += input;
    const OwnedAttributes attributes(callback.attributes);
    for (const auto& attribute : attributes.all()) {
      sum += std::strlen(attribute.name);
      const auto* values = reinterpret_cast<const std::uint8_t*>(attribute.text);
      sum = std::accumulate(values, values + attribute.count * element_bytes(attribute.kind), sum);
      if (attribute.kind != TENON_ATTR_TENSOR) continue;
      const auto tensor = tenon::Tensor::borrow(*attribute.tensor);
      const auto* elements = static_cast<const std::uint8_t*>(tensor.data());
      sum = std::accumulate(elements, elements + tensor.bytes(), sum);
    }
  } catch (const ProtocolError&) {
    sum = 0;
  }
  // uses everything that is read; libFuzzer does not keep inputs that return -1
  return sum == 1 ? -1 : 0;
}
