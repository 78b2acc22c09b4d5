// Arbitrary bytes as a graph.json: the result is a graph or a Failure. A graph survives writing and
// reading.
#include <cstdlib>
#include <tenon/host/graph.hpp>

#include "../file/odd_operator.hpp"
#include "target.hpp"

TENON_FUZZ_TARGET(graph_json)(const std::uint8_t* bytes, std::size_t size) {
  static JsonHost host;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (text.find("npy") != std::string_view::npos) return 0;  // do not read other files
  std::string first;
  try {
    first = tenon::Graph::from_json(host, text).to_json();
  } catch (const tenon::Failure&) {
    return 0;
  }
  if (tenon::Graph::from_json(host, first).to_json() != first) std::abort();
  return 0;
}
