// Arbitrary bytes as the request of a worker process while a gradient is built: it is read
// completely or rejected. Names, inputs and parameters are traversed to their ends.
#include <numeric>
#include <tenon/host/tensor.hpp>

#include "isolate/attribute_message.hpp"
#include "target.hpp"

using namespace tenon::isolate;

TENON_FUZZ_TARGET(protocol)(const std::uint8_t* bytes, std::size_t size) {
  std::vector<std::uint64_t> aligned(size / 8 + 1);  // like real messages
  if (size > 0) std::memcpy(aligned.data(), bytes, size);
  std::uint64_t sum = 0;
  try {
    Reader reader(std::as_bytes(std::span(aligned)).first(size));
    const auto asked = reader.take<GradientCallback>();
    for (const char letter : reader.take_text(asked.name_bytes))
      sum += static_cast<unsigned char>(letter);
    for (const auto input : reader.take_array<std::uint64_t>(asked.input_count)) sum += input;
    const OwnedAttributes attributes(reader, asked.attribute_count);
    for (const auto& attribute : attributes.all()) {
      sum += std::strlen(attribute.name);
      const auto* values = reinterpret_cast<const std::uint8_t*>(attribute.text);
      sum = std::accumulate(values, values + attribute.count * element_bytes(attribute.kind), sum);
      if (attribute.kind != TENON_ATTR_TENSOR) continue;
      const auto tensor = tenon::Tensor::borrow(*attribute.tensor);
      const auto* elements = static_cast<const std::uint8_t*>(tensor.data());
      sum = std::accumulate(elements, elements + tensor.bytes(), sum);
    }
    reader.expect_end();
  } catch (const ProtocolError&) {
    sum = 0;
  }
  // uses everything that is read; libFuzzer does not keep inputs that return -1
  return sum == 1 ? -1 : 0;
}
