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

struct RunPathEntry {
  fs::path folder;
  bool by_origin = false;
};

/// Without a folder where it is neither relative to $ORIGIN nor absolute: the system's loader understands the others.
RunPathEntry expand(const std::string& entry, const fs::path& folder) {
  for (const std::string origin : {"$ORIGIN", "${ORIGIN}"}) {
    if (!entry.starts_with(origin) || (entry.size() > origin.size() && entry[origin.size()] != '/')) continue;
    return {(folder / entry.substr(std::min(origin.size() + 1, entry.size()))).lexically_normal(), true};
  }
  return {entry.starts_with('/') ? fs::path(entry) : fs::path()};
}

std::vector<RunPathEntry> run_path(const ElfFile& elf, const fs::path& folder) {
  std::vector<RunPathEntry> entries;
  for (const auto tag : {DT_RPATH, DT_RUNPATH}) {
    for (const std::string& list : elf.dynamic_texts(tag)) {
      for (std::size_t begin = 0; begin <= list.size();) {
        const auto end = std::min(list.find(':', begin), list.size());
        if (auto expanded = expand(list.substr(begin, end - begin), folder); !expanded.folder.empty())
          entries.push_back(std::move(expanded));
        begin = end + 1;
      }
    }
  }
  return entries;
}

/// Follows what a plugin needs, in the loader's stead.
class Search {
 public:
  enum class For { bundled, all };
  explicit Search(For wanted) : wanted_(wanted) {}

  /// What the plugin, or a library that it brings along, needs; those that others need before them.
  void follow_bundled(const InputFile& file, const fs::path& folder) {
    const ElfFile elf(file);
    const auto entries = run_path(elf, folder);
    if (entries.empty() && wanted_ == For::bundled) return;
    for (const std::string& name : elf.dynamic_texts(DT_NEEDED)) {
      const auto place = std::find_if(entries.begin(), entries.end(), [&](const RunPathEntry& entry) {
        return entry.by_origin && name.find('/') == std::string::npos && is_file(entry.folder / name);
      });
      if (place != entries.end()) {
        add_bundled(place->folder / name);
      } else if (wanted_ == For::all) {
        add_elsewhere(name, entries, {});
      }
    }
  }

  std::vector<fs::path> bundled, elsewhere;

 private:
  static bool is_file(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
  }

  bool begin(const fs::path& path) {
    if (std::find(begun_.begin(), begun_.end(), path) != begun_.end()) return false;
    begun_.push_back(path);
    return true;
  }

  void add_bundled(const fs::path& path) {
    if (!begin(path)) return;
    try {
      follow_bundled(InputFile(path), fs::canonical(path).parent_path());
    } catch (const PluginError& fault) {
      throw PluginError(fault.status(), "needs the library " + path.string() + ", which " + fault.what());
    }
    bundled.push_back(path);
  }

  /// Wherever it lies: which place counts depends on whose run path is the older kind. What is unsound the loader refuses by itself.
  void add_elsewhere(const std::string& name, const std::vector<RunPathEntry>& own, const std::vector<RunPathEntry>& inherited) {
    std::vector<fs::path> places;
    if (name.starts_with('/')) places.emplace_back(name);
    if (name.find('/') == std::string::npos)
      for (const auto* entries : {&own, &inherited})
        for (const auto& entry : *entries) places.push_back(entry.folder / name);
    for (const auto& path : places) {
      if (!is_file(path) || !begin(path)) continue;
      try {
        const InputFile file(path);
        const ElfFile elf(file);
        auto entries = run_path(elf, fs::canonical(path).parent_path());
        elsewhere.push_back(path);
        auto others = own;
        others.insert(others.end(), inherited.begin(), inherited.end());
        for (const std::string& needed : elf.dynamic_texts(DT_NEEDED)) add_elsewhere(needed, entries, others);
      } catch (const PluginError&) {
        continue;
      }
    }
  }

  const For wanted_;
  std::vector<fs::path> begun_;
};

}  // namespace

std::vector<fs::path> find_bundled_dependencies(const InputFile& file, const fs::path& folder) {
  Search search(Search::For::bundled);
  search.follow_bundled(file, folder);
  return search.bundled;
}

std::vector<fs::path> find_dependencies_elsewhere(const InputFile& file, const fs::path& folder) {
  Search search(Search::For::all);
  search.follow_bundled(file, folder);
  return search.elsewhere;
}

}  // namespace tenon
