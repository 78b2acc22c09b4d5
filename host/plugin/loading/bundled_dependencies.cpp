#include "plugin/loading/bundled_dependencies.hpp"

#include <elf.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "plugin/discovery/elf_file.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

/// Empty where the entry of the run path does not begin with $ORIGIN: the system's loader understands the others.
fs::path expand(const std::string& entry, const fs::path& folder) {
  for (const std::string origin : {"$ORIGIN", "${ORIGIN}"}) {
    if (!entry.starts_with(origin) || (entry.size() > origin.size() && entry[origin.size()] != '/')) continue;
    return (folder / entry.substr(std::min(origin.size() + 1, entry.size()))).lexically_normal();
  }
  return {};
}

std::vector<fs::path> run_path(const ElfFile& elf, const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const auto tag : {DT_RPATH, DT_RUNPATH}) {
    for (const std::string& list : elf.dynamic_texts(tag)) {
      for (std::size_t begin = 0; begin <= list.size();) {
        const auto end = std::min(list.find(':', begin), list.size());
        if (auto expanded = expand(list.substr(begin, end - begin), folder); !expanded.empty()) folders.push_back(std::move(expanded));
        begin = end + 1;
      }
    }
  }
  return folders;
}

/// What `file` needs, those that others need before them.
void add_dependencies(const InputFile& file, const fs::path& folder, std::vector<fs::path>& begun, std::vector<fs::path>& dependencies) {
  const ElfFile elf(file);
  const std::vector<fs::path> folders = run_path(elf, folder);
  if (folders.empty()) return;
  for (const std::string& name : elf.dynamic_texts(DT_NEEDED)) {
    if (name.find('/') != std::string::npos) continue;
    std::error_code error;
    const auto place =
        std::find_if(folders.begin(), folders.end(), [&](const fs::path& f) { return fs::is_regular_file(f / name, error); });
    if (place == folders.end()) continue;
    const auto path = *place / name;
    if (std::find(begun.begin(), begun.end(), path) != begun.end()) continue;
    begun.push_back(path);
    try {
      add_dependencies(InputFile(path), fs::canonical(path).parent_path(), begun, dependencies);
    } catch (const PluginError& fault) {
      throw PluginError(fault.status(), "needs the library " + path.string() + ", which " + fault.what());
    }
    dependencies.push_back(path);
  }
}

}  // namespace

std::vector<fs::path> find_bundled_dependencies(const InputFile& file, const fs::path& folder) {
  std::vector<fs::path> begun, dependencies;
  add_dependencies(file, folder, begun, dependencies);
  return dependencies;
}

}  // namespace tenon
