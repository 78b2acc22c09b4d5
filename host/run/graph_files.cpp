// Reads and writes graph files.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "device/memory.hpp"
#include "file/json/graph_json.hpp"
#include "file/tenon/tenon_file.hpp"
#include "io/file_memory.hpp"
#include "run/graph_impl.hpp"
#include "tensor/backing_files.hpp"

namespace tenon {
namespace {

static_assert(LoadOptions{}.map_above == FileMemory::max_read);

std::string read_text(const std::filesystem::path& path, std::uint64_t map_above) {
  const auto file = FileMemory::open(path, map_above);
  std::string text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  file->require_unchanged();
  return text;
}

void warn_of_unsaved_members(const Graph& graph, const std::string& file) {
  for (const auto& sentence : unsaved_members(model_of(graph))) {
    const auto line = fmt::format("{}: {}", file, sentence);
    impl_of(impl_of(graph).host).warnings.once(line, line);
  }
}

}  // namespace

// A graph that was loaded but not bound is written as it was read, because its plugins may be
// missing.
void Graph::save(const std::filesystem::path& path, std::uint64_t seed) {
  impl_of(*this).initialize(seed);
  const GraphUsers::ReadGuard use(impl_->users);
  write_tenon(impl_->up_to_date()->model, path);
}

std::vector<std::byte> Graph::to_bytes(std::uint64_t seed) {
  impl_of(*this).initialize(seed);
  const GraphUsers::ReadGuard use(impl_->users);
  return write_tenon(impl_->up_to_date()->model);
}

// Copies the bytes, because tensors point into them and need aligned memory.
Graph Graph::from_bytes(Host& host, std::span<const std::byte> bytes, const std::string& name) {
  const std::shared_ptr<std::byte[]> copy = allocate(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  Graph graph(host);
  graph.impl_->adopt(read_tenon({name, {copy.get(), bytes.size()}, copy}, FileCheck::everything));
  warn_of_unsaved_members(graph, name);
  return graph;
}

Graph Graph::load(Host& host, const std::filesystem::path& path, const LoadOptions& options) {
  Graph graph(host);
  if (path.extension() == ".json") {
    auto builder = graph.impl_->builder();
    read_graph_json(read_text(path, options.map_above), {path.string(), path.parent_path()},
                    graph.impl_->current->model, builder, host.catalog());
  } else {
    graph.impl_->adopt(read_tenon(
        path, options.verify ? FileCheck::everything : FileCheck::structure, options.map_above));
  }
  warn_of_unsaved_members(graph, path.string());
  return graph;
}

Graph Graph::from_json(Host& host, std::string_view text, const std::filesystem::path& folder) {
  Graph graph(host);
  auto builder = graph.impl_->builder();
  read_graph_json(text, {"graph.json", folder}, graph.impl_->current->model, builder,
                  host.catalog());
  warn_of_unsaved_members(graph, "graph.json");
  return graph;
}

std::string Graph::to_json() const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  auto text = write_graph_json(impl_->up_to_date()->model);
  BackingFiles(impl_->model().tensors).require_unchanged();
  return text;
}

}  // namespace tenon
