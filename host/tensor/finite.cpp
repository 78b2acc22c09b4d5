#include "tensor/finite.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "device/device.hpp"
#include "device/mark_non_finite.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

constexpr std::int64_t block = 256;

/// Whether an element of the block has all exponent bits set. GCC 12 vectorizes at -O2 only loops
/// with a constant trip count.
template <class Bits>
bool has_non_finite(const Bits* bits, Bits exponent) {
  Bits found = 0;
  for (std::int64_t i = 0; i < block; ++i)
    found = static_cast<Bits>(found | ((bits[i] & exponent) == exponent ? 1 : 0));
  return found != 0;
}

template <class Bits>
std::int64_t find(const void* elements, std::int64_t n, Bits exponent) {
  const auto* bits = static_cast<const Bits*>(elements);
  std::int64_t i = 0;
  for (; i + block <= n; i += block) {
    // The hardware prefetcher stops at page boundaries.
    for (std::int64_t line = 0; line < block; line += 64 / sizeof(Bits))
      __builtin_prefetch(bits + i + line + 16384 / sizeof(Bits));
    if (has_non_finite(bits + i, exponent)) break;
  }
  while (i < n && (bits[i] & exponent) != exponent) ++i;
  return i < n ? i : -1;
}

}  // namespace

std::int64_t first_non_finite(DType dtype, const void* elements, std::int64_t n) {
  std::int64_t found = -1;
  const auto components = component_count(dtype);
  with_exponent_bits(dtype,
                     [&](auto exponent) { found = find(elements, n * components, exponent); });
  return found < 0 ? found : found / components;
}

namespace {

using Found = std::vector<std::int64_t>;  // 1 for each tensor with a non-finite element

void find_on_cpu(std::span<const Tensor> tensors, const Threads& threads, Found& found) {
  static constexpr std::int64_t chunk_size = 1 << 16;
  struct Chunk {
    const Tensor* tensor;
    std::int64_t first;
    bool has_non_finite;
  };
  std::vector<Chunk> chunks;
  for (const auto& tensor : tensors)
    for (std::int64_t first = 0; tensor.device() == "cpu" && first < tensor.size();
         first += chunk_size)
      chunks.push_back({&tensor, first, false});
  const auto look = [](void* context, std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      auto& [tensor, first, has_non_finite] = static_cast<Chunk*>(context)[i];
      const auto* const elements = static_cast<const std::byte*>(tensor->data()) +
                                   first * static_cast<std::int64_t>(size_of(tensor->dtype()));
      has_non_finite = first_non_finite(tensor->dtype(), elements,
                                        std::min(chunk_size, tensor->size() - first)) >= 0;
    }
  };
  threads.parallel_for(static_cast<std::int64_t>(chunks.size()), 1, look, chunks.data());
  for (const auto& chunk : chunks)
    if (chunk.has_non_finite) found[static_cast<std::size_t>(chunk.tensor - tensors.data())] = 1;
}

void find_on(Device& device, std::span<const Tensor> tensors, Found& found) {
  const auto count = static_cast<std::int64_t>(tensors.size());
  const Tensor words = Tensor::zeros(DType::i64, {count}).to(device.name());
  const CurrentDevice current(device);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].device() == device.name())
      mark_non_finite(tensors[i].dtype(), tensors[i].data(), tensors[i].size(),
                      words.data<std::int64_t>() + i, tensor_stream(device));
  const Tensor back = words.to("cpu");
  for (std::size_t i = 0; i < tensors.size(); ++i) found[i] |= back.values<std::int64_t>()[i];
}

}  // namespace

std::int64_t first_non_finite(std::span<const Tensor> tensors, const Threads& threads) {
  Found found(tensors.size());
  find_on_cpu(tensors, threads, found);
  std::map<std::string, Device*> gpus;
  for (const auto& tensor : tensors)
    if (tensor.device() != "cpu") gpus.emplace(tensor.device(), &device_of(tensor));
  for (const auto& [name, gpu] : gpus) find_on(*gpu, tensors, found);
  const auto first = std::find(found.begin(), found.end(), 1);
  return first == found.end() ? -1 : first - found.begin();
}

}  // namespace tenon
