// Arbitrary bytes as the metadata of a file with correct checksums: the result is a graph or a
// Failure. A graph that is written again can be read and gives the same bytes.
#include <cstdlib>
#include <tenon/host/failure.hpp>

#include "../file/forged_file.hpp"
#include "../file/sample_graph.hpp"
#include "file/json/graph_json.hpp"
#include "file/tenon/metadata_writer.hpp"
#include "target.hpp"

namespace {

std::vector<std::byte> rewritten(const tenon::GraphModel& graph, FileSections& sections) {
  const auto order = tenon::file_order(graph);
  const auto data = tenon::lay_out(graph, order);
  auto metadata = tenon::write_metadata(graph, order, data, "again.tenon");
  sections.metadata.assign(reinterpret_cast<const char*>(metadata.data()), metadata.size());
  sections.data.assign(data.size, '\0');
  for (const auto& place : data.buffers)
    if (place.size != 0)
      std::memcpy(sections.data.data() + place.offset, place.array.data(), place.size);
  return metadata;
}

}  // namespace

TENON_FUZZ_TARGET(tenon_file)(const std::uint8_t* bytes, std::size_t size) {
  FileSections sections;
  sections.metadata.assign(reinterpret_cast<const char*>(bytes), size);
  static const std::string sparse =
      // with valid indices; for the other samples only the length matters
      FileSections::of(sparse_graph()).data;
  for (const auto& data :
       {std::string(), std::string(136, '\0'), std::string(65696, '\0'), sparse}) {
    sections.data = data;
    try {
      const auto graph = read_forged(sections.bytes(), tenon::FileCheck::structure);
      if (tenon::write_graph_json(graph).empty()) std::abort();
      FileSections again;
      const auto first = rewritten(graph, again);
      const auto second = rewritten(read_forged(again.bytes()), again);
      if (first != second) std::abort();
    } catch (const tenon::Failure& failure) {
      if (failure.kind() != tenon::FailureKind::file) std::abort();
    }
  }
  return 0;
}
