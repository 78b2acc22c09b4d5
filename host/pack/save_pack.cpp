#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tenon/host/host.hpp>
#include <tenon/host/pack.hpp>

#include "file/array/zip_writer.hpp"
#include "io/file_memory.hpp"
#include "io/sha256.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"
#include "pack/pack_list.hpp"
#include "plugin/discovery/input_file.hpp"
#include "plugin/library_location.hpp"
#include "plugin/loading/needed_libraries.hpp"
#include "plugin/plugin_error.hpp"
#include "run/graph_impl.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

std::string sum_of(std::span<const std::byte> bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hexadecimal();
}

/// The files of the plugins that loading the graph used, and of those with a kernel or variant for
/// one of its operators.
std::set<fs::path> plugins_of(const Graph& graph, const Catalog& catalog) {
  std::set<fs::path> paths;
  const auto add = [&](int file) {
    if (file >= 0 && !is_bundled(catalog.files()[static_cast<std::size_t>(file)].path))
      paths.insert(catalog.files()[static_cast<std::size_t>(file)].path);
  };
  for (const auto& used : graph.operators()) {
    const auto* op = catalog.find(used.full_name());
    if (op == nullptr) continue;
    if (op->file < 0 && op->info.space != "tenon")
      throw Failure(FailureKind::usage,
                    fmt::format("operator '{}' is defined by the application, not by a plugin",
                                used.full_name()),
                    "build it as a plugin, so that it can be packed");
    for (const auto file : op->kernel_files) add(file);
    for (const auto& variant : op->variants) add(variant.file);
  }
  for (std::size_t i = 0; i < catalog.files().size(); ++i)
    if (catalog.files()[i].status == PluginStatus::loaded) add(static_cast<int>(i));
  return paths;
}

/// Files by their names in the pack.
class Files {
 public:
  void add_plugin(const fs::path& path) {
    list.plugins.push_back(add(path));
    if (const fs::path signature = path.native() + ".sig"; fs::exists(signature)) add(signature);
    try {
      for (const auto& library :
           find_needed_libraries(InputFile(path), path.parent_path(), SearchEnvironment::ignored)) {
        if (library.path.filename().empty() || library.found != NeededLibrary::Found::bundled)
          continue;
        if (!fs::equivalent(library.path.parent_path(), path.parent_path()))
          throw Failure(FailureKind::file,
                        fmt::format("{} needs {}, which is in another folder, but a pack has a "
                                    "single folder for both",
                                    path.string(), library.path.string()),
                        "build the plugin so that it finds the library in its own folder");
        add(library.path);
      }
    } catch (const PluginError& fault) {
      throw Failure(FailureKind::file, path.string() + " " + fault.what());
    }
  }

  std::string add(const fs::path& path) {
    auto name = std::string(pack_plugins) + path.filename().string();
    if (!is_member_name(name))
      throw Failure(
          FailureKind::usage,
          fmt::format("{} cannot be in a pack: its name begins with a dot or is not plain text",
                      printable(path.string())));
    const auto file = FileMemory::open(path);
    const auto [at, added] = files_.emplace(name, file);
    if (!added && !std::ranges::equal(at->second->bytes(), file->bytes()))
      throw Failure(
          FailureKind::usage,
          fmt::format("{} and {} have the same name, but a pack has a single folder for both",
                      at->second->path().string(), path.string()),
          "rename one of them");
    return name;
  }

  const std::map<std::string, std::shared_ptr<const FileMemory>>& files() const { return files_; }
  PackList list;

 private:
  std::map<std::string, std::shared_ptr<const FileMemory>> files_;
};

}  // namespace

SavedPack save_pack(Graph& graph, const fs::path& path, const PackOptions& options) {
  graph.bind();
  Files found;
  for (const auto& plugin : plugins_of(graph, impl_of(graph).host.catalog()))
    found.add_plugin(plugin);
  for (const auto& file : options.with) found.add(file);
  auto& list = found.list;
  std::sort(list.plugins.begin(), list.plugins.end());
  const auto content = graph.to_bytes(options.seed);
  list.members.push_back({pack_graph_name, content.size(), sum_of(content)});
  for (const auto& [name, file] : found.files())
    list.members.push_back({name, file->bytes().size(), sum_of(file->bytes())});

  AtomicFile file(path);
  Sha256 sum;
  ZipWriter zip(file, ZipWriter::narrow, [&](std::span<const std::byte> bytes) { sum.add(bytes); });
  zip.add(pack_list_name, to_text(list), {});
  zip.add(pack_graph_name, {}, content);
  for (const auto& [name, memory] : found.files()) {
    zip.add(name, {}, memory->bytes());
    memory->require_unchanged();
  }
  zip.finish();
  file.commit();
  return {sum.hexadecimal(), std::move(list.members)};
}

}  // namespace tenon
