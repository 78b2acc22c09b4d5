#include "cli/repository/backend_files.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <tenon/host/failure.hpp>
#include <tenon/host/isolation.hpp>

#include "serve/model_folder.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

/// Returns the folder of the library. In a build tree, the other files are next to it; when
/// installed, they are in tenon/ next to it.
fs::path library_folder() {
  Dl_info info{};
  std::error_code error;
  const bool found = dladdr(reinterpret_cast<const void*>(&isolation_info), &info) != 0 &&
                     info.dli_fname != nullptr;
  return found ? fs::canonical(info.dli_fname, error).parent_path() : fs::path();
}

fs::path installed_path(const char* name) {
  std::error_code error;
  for (const auto& path : {library_folder() / "tenon" / name, library_folder() / name})
    if (fs::exists(path, error)) return path;
  throw Failure(
      FailureKind::file, fmt::format("this installation of Tenon has no {}", name),
      "install the package tenon or use `cmake --install`; the Python package does not contain it");
}

bool is_bundled(const PluginFile& file) {
  std::error_code error;
  return fs::equivalent(file.path.parent_path(), installed_path("plugins"), error);
}

bool is_for_cpu(const PluginFile& file) {
  return !file.operators.empty() ||
         std::any_of(file.kernels.begin(), file.kernels.end(),
                     [](const auto& kernel) { return kernel.device == "cpu"; });
}

bool is_within(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

std::vector<fs::path> loaded_files() {
  std::vector<fs::path> files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        std::error_code error;
        if (auto path = fs::canonical(info->dlpi_name, error); !error)
          static_cast<std::vector<fs::path>*>(to)->push_back(std::move(path));
        return 0;
      },
      &files);
  return files;
}

/// Adds the files of an operator and of its CPU kernels.
void add_files_of(const CatalogOperator& op, std::set<int>& files) {
  files.insert(op.file);
  for (std::size_t i = 0; i < op.kernel_files.size(); ++i)
    if (op.devices[i] == "cpu") files.insert(op.kernel_files[i]);
  for (const auto& variant : op.variants)
    if (variant.device == "cpu") files.insert(variant.file);
}

}  // namespace

std::vector<FileCopy> backend_files(const Catalog& catalog) {
  const fs::path folder = serve::installation_folder;
  std::vector<FileCopy> files{{installed_path(serve::backend_file), serve::backend_file}};
  for (const auto* program : {"tenon-probe", "tenon-worker"})
    files.push_back({installed_path(program), folder / program, true});
  for (const auto& file : catalog.files())
    if (file.usable() && is_bundled(file) && is_for_cpu(file))
      files.push_back({file.path, folder / "plugins" / file.path.filename()});
  return files;
}

PluginCopies plugin_files(const Graph& graph) {
  const auto catalog = graph.host().catalog();
  std::set<int> used;
  for (const auto& op : graph.operators())
    if (const auto* found = catalog.find(op.full_name())) add_files_of(*found, used);
  for (std::size_t i = 0; i < catalog.files().size(); ++i)
    if (catalog.files()[i].status == PluginStatus::loaded) used.insert(static_cast<int>(i));
  used.erase(-1);

  PluginCopies copies;
  const auto loaded = loaded_files();
  const fs::path plugins_folder = serve::plugins_folder;
  std::error_code error;
  std::set<fs::path> taken;
  for (const auto i : used) {
    const auto& path = catalog.files()[static_cast<std::size_t>(i)].path;
    if (is_bundled(catalog.files()[static_cast<std::size_t>(i)])) continue;
    if (!taken.insert(path.filename()).second)
      throw Failure(FailureKind::plugin,
                    fmt::format("two plugins of the graph have the file name '{}', but the model's "
                                "folder can hold only one",
                                path.filename().string()),
                    "rename one of them");
    copies.plugins.push_back({path, plugins_folder / path.filename()});
    const auto folder = fs::canonical(path, error).parent_path();
    for (const auto& file : loaded) {
      const bool is_plugin =
          std::any_of(catalog.files().begin(), catalog.files().end(), [&](const auto& plugin) {
            return plugin.usable() && fs::equivalent(plugin.path, file, error);
          });
      if (is_within(file, folder) && !is_plugin &&
          taken.insert(file.lexically_relative(folder)).second)
        copies.companions.push_back({file, plugins_folder / file.lexically_relative(folder)});
    }
  }
  return copies;
}

}  // namespace tenon::cli
