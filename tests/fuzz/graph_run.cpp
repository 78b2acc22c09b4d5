// Any bytes as the metadata of a file whose checksums are right: it is loaded, bound to the bundled plugins, planned and run, or refused by
// a Failure; nothing else, and no kernel leaves its tensors.
#include <cstring>

#include "built.hpp"
#include "fuzz/forged_graphs.hpp"
#include "plugins/strict_host.hpp"
#include "target.hpp"

namespace {

tenon::Host& host() {
  static StrictHost host(1);
  return host;
}

FileParts parts_of(const std::uint8_t* bytes, std::size_t size) {
  FileParts parts;
  parts.metadata.assign(reinterpret_cast<const char*>(bytes), size);
  return parts;
}

[[maybe_unused]] bool is_sound(const FileParts& parts) {
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(parts.metadata.data()), parts.metadata.size());
  if (!tenon::format::VerifyModelBuffer(verifier)) return false;
  const auto* graphs = tenon::format::GetModel(parts.metadata.data())->graphs();
  if (graphs == nullptr || graphs->size() == 0) return false;
  const auto* graph = graphs->Get(0);
  return graph->nodes() != nullptr && graph->values() != nullptr && graph->attributes() != nullptr;
}

}  // namespace

TENON_FUZZ_TARGET(graph_run)(const std::uint8_t* bytes, std::size_t size) {
  // the data of each sample: tensors of other lengths are refused
  static const std::vector<std::string> data = [] {
    std::vector<std::string> all;
    for (const auto& sample : forged::samples) all.push_back(FileParts::of(model_of(sample.make(host()))).data);
    return all;
  }();
  auto parts = parts_of(bytes, size);
  for (std::size_t i = 0; i < data.size(); ++i) {
    parts.data = data[i];
    forged::run(host(), parts.bytes(), forged::samples[i].training);
  }
  return 0;
}

#if defined(TENON_LIBFUZZER)
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t size, std::size_t most);

/// Mostly changes that the reader does not refuse at once.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size, std::size_t most, unsigned seed) {
  const auto parts = parts_of(bytes, size);
  if (seed % 8 == 0 || !is_sound(parts)) return LLVMFuzzerMutate(bytes, size, most);
  const auto changed = forged::Forger(seed).changed(parts).metadata;
  if (changed.size() > most) return LLVMFuzzerMutate(bytes, size, most);
  std::memcpy(bytes, changed.data(), changed.size());
  return changed.size();
}
#endif
