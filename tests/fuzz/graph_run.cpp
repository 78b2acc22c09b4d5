// Arbitrary bytes as the metadata of a file with correct checksums: it is loaded, bound to the
// bundled plugins, planned and run, or there is a Failure. No kernel accesses memory outside of its
// tensors.
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

FileSections parts_of(const std::uint8_t* bytes, std::size_t size) {
  FileSections sections;
  sections.metadata.assign(reinterpret_cast<const char*>(bytes), size);
  return sections;
}

/// The data of each sample's graph, because tensors of other lengths are rejected.
const std::vector<std::string>& data_of_samples() {
  static const auto data = [] {
    std::vector<std::string> all;
    for (const auto& sample : forged::samples)
      all.push_back(FileSections::of(model_of(sample.make(host()))).data);
    return all;
  }();
  return data;
}

/// Other files may contain numbers at addresses that trap when read, which FlatBuffers' verifier
/// does not detect.
[[maybe_unused]] bool is_read(FileSections sections) {
  return std::any_of(data_of_samples().begin(), data_of_samples().end(),
                     [&](const std::string& data) {
                       sections.data = data;
                       try {
                         read_forged(sections.bytes(), tenon::FileCheck::structure);
                         return true;
                       } catch (const tenon::Failure&) {
                         return false;
                       }
                     });
}

}  // namespace

TENON_FUZZ_TARGET(graph_run)(const std::uint8_t* bytes, std::size_t size) {
  auto sections = parts_of(bytes, size);
  for (std::size_t i = 0; i < data_of_samples().size(); ++i) {
    sections.data = data_of_samples()[i];
    forged::run(host(), sections.bytes(), forged::samples[i].training);
  }
  return 0;
}

#if defined(TENON_LIBFUZZER)
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t size, std::size_t most);

/// Prefers mutations that the reader does not reject immediately.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size,
                                               std::size_t most, unsigned seed) {
  const auto sections = parts_of(bytes, size);
  if (seed % 8 == 0 || !is_read(sections)) return LLVMFuzzerMutate(bytes, size, most);
  const auto changed = forged::Forger(seed).changed(sections).metadata;
  if (changed.size() > most) return LLVMFuzzerMutate(bytes, size, most);
  std::memcpy(bytes, changed.data(), changed.size());
  return changed.size();
}
#endif
