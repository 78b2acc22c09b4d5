#include "plugin/loading/needed_libraries.hpp"

#include <elf.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <system_error>
#include <unordered_map>

#include "plugin/discovery/elf_file.hpp"
#include "plugin/loading/system_loader.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using Found = NeededLibrary::Found;

/// A folder to search.
struct SearchFolder {
  std::string folder;
  bool by_origin = false;  // from $ORIGIN of the plugin or of a bundled library
};

/// Splits a list of folders; an empty entry is the current folder.
std::vector<std::string> split(std::string_view list, const char* separators) {
  std::vector<std::string> entries;
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find_first_of(separators, begin), list.size());
    entries.emplace_back(begin == end ? "." : list.substr(begin, end - begin));
    begin = end + 1;
  }
  return entries;
}

/// Expands tokens as the loader does for an object in `folder`.
std::string expand(const std::string& text, const std::string& folder) {
  if (text.find('$') == std::string::npos) return text;
  auto values = LoaderRules::of_this_machine().tokens;
  values["ORIGIN"] = folder;
  return expand_tokens(text, values);
}

/// Returns whether the text contains $ORIGIN.
bool has_origin(const std::string& text) {
  return expand_tokens(text, {{"ORIGIN", ""}}) != text;
}

std::vector<SearchFolder> environment_folders() {
  std::vector<SearchFolder> folders;
  const char* list = std::getenv("LD_LIBRARY_PATH");
  if (list == nullptr || *list == '\0') return folders;
  std::error_code error;
  const auto program = fs::read_symlink("/proc/self/exe", error).parent_path().string();
  for (const auto& folder : split(list, ":;")) folders.push_back({expand(folder, program)});
  return folders;
}

/// Libraries in the system loader's cache. Thread-safe.
class SystemLibraries {
 public:
  static SystemLibraries& of_this_machine() {
    static auto& all = *new SystemLibraries;
    return all;
  }
  /// Returns an empty path if there is no library of that name for this machine.
  std::string find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (const auto known = found_.find(name); known != found_.end()) return known->second;
    std::string path;
    for (auto [at, end] = paths_.equal_range(name); at != end && path.empty(); ++at)
      if (is_for_this_machine(at->second)) path = at->second;
    return found_[name] = path;
  }

 private:
  /// Only strings in the cache look like paths.
  SystemLibraries() {
    std::ifstream cache("/etc/ld.so.cache", std::ios::binary);
    for (std::string text; std::getline(cache, text, '\0');)
      if (text.starts_with('/')) paths_.emplace(text.substr(text.rfind('/') + 1), text);
  }
  static bool is_for_this_machine(const std::string& path) {
    try {
      check_elf_header(InputFile(path));
      return true;
    } catch (const PluginError&) {
      return false;
    }
  }

  std::mutex mutex_;
  std::unordered_multimap<std::string, std::string> paths_;  // by file name
  std::unordered_map<std::string, std::string> found_;
};

class Search {
 public:
  explicit Search(SearchEnvironment environment) {
    if (environment == SearchEnvironment::used) environment_ = environment_folders();
  }

  std::vector<NeededLibrary> run(const InputFile& file, const fs::path& folder) {
    add({fs::absolute(folder) / "", Found::bundled, FileStamp(file.status())}, ElfFile(file), 0);
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const auto needed = objects_[i].needed;
      for (const auto& name : needed)
        if (const auto library = find(name, i)) libraries_[i].needs[name] = *library;
    }
    return std::move(libraries_);
  }

 private:
  /// A file as the search reads it, and the object that first needed it.
  struct Object {
    std::vector<SearchFolder> rpath, runpath;
    std::vector<std::string> needed;
    std::size_t needed_by = 0;
  };

  std::size_t add(NeededLibrary library, const ElfFile& elf, std::size_t needed_by) {
    const auto folder = library.path.parent_path().string();
    const auto folders = [&](std::int64_t tag) {
      std::vector<SearchFolder> found;
      for (const auto& list : elf.dynamic_texts(tag))
        for (const auto& entry : split(list, ":")) {
          found.push_back(
              {expand(entry, folder), library.found == Found::bundled && has_origin(entry)});
        }
      return found;
    };
    Object object{folders(DT_RPATH), folders(DT_RUNPATH), elf.dynamic_texts(DT_NEEDED), needed_by};
    if (!object.runpath.empty()) object.rpath.clear();
    for (const auto& soname : elf.dynamic_texts(DT_SONAME))
      if (!objects_.empty()) by_name_.emplace(soname, objects_.size());
    objects_.push_back(std::move(object));
    libraries_.push_back(std::move(library));
    return objects_.size() - 1;
  }

  /// Returns std::nullopt if the loader would search on: if there is no file, or one that is not
  /// valid for this machine.
  std::optional<std::size_t> open(const fs::path& path, Found found, std::size_t needed_by) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::nullopt;
    for (std::size_t i = 1; i < libraries_.size(); ++i)
      if (fs::equivalent(libraries_[i].path, path, error) && !error) return i;
    try {
      const InputFile file(path);
      return add({path, found, FileStamp(file.status())}, ElfFile(file), needed_by);
    } catch (const PluginError& fault) {
      if (found != Found::bundled || fault.status() == PluginStatus::wrong_machine)
        return std::nullopt;
      throw PluginError(fault.status(),
                        "needs the library " + path.string() + ", which " + fault.what());
    }
  }

  std::optional<std::size_t> find_in(const std::vector<SearchFolder>& folders,
                                     const std::string& name, std::size_t needed_by) {
    std::error_code error;
    for (const auto& searched : folders) {
      if (!fs::is_directory(searched.folder, error)) continue;
      for (const auto& below : LoaderRules::of_this_machine().subfolders)
        if (auto library = open(fs::path(searched.folder) / below / name,
                                searched.by_origin ? Found::bundled : Found::by_path, needed_by))
          return library;
    }
    return std::nullopt;
  }

  std::optional<std::size_t> find(const std::string& name, std::size_t needed_by) {
    if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
    auto found = search(name, needed_by);
    if (found) by_name_.emplace(name, *found);
    return found;
  }

  std::optional<std::size_t> search(const std::string& name, std::size_t needed_by) {
    if (name.find('/') != std::string::npos) {
      const auto& library = libraries_[needed_by];
      return open(expand(name, library.path.parent_path().string()),
                  has_origin(name) ? library.found : Found::by_path, needed_by);
    }
    const auto runpath = objects_[needed_by].runpath;
    std::vector<std::vector<SearchFolder>> lists;
    for (auto i = needed_by; runpath.empty(); i = objects_[i].needed_by) {
      lists.push_back(objects_[i].rpath);
      if (i == 0) break;
    }
    lists.push_back(environment_);
    lists.push_back(runpath);
    for (const auto& folders : lists)
      if (auto library = find_in(folders, name, needed_by)) return library;
    const auto path = SystemLibraries::of_this_machine().find(name);
    if (path.empty()) return std::nullopt;
    objects_.push_back({});
    libraries_.push_back({path, Found::by_system, FileStamp::of(path)});
    return objects_.size() - 1;
  }

  std::vector<SearchFolder> environment_;
  std::vector<Object> objects_;  // indexed like libraries_
  std::vector<NeededLibrary> libraries_;
  std::map<std::string, std::size_t> by_name_;
};

bool continues_name(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/// Returns the token's length, or 0 if `text` does not begin with it.
std::size_t token_size(std::string_view text, const std::string& name) {
  if (text.starts_with("${" + name + "}")) return name.size() + 3;
  const auto end = name.size() + 1;
  return text.starts_with("$" + name) && (text.size() == end || !continues_name(text[end])) ? end
                                                                                            : 0;
}

}  // namespace

std::vector<NeededLibrary> find_needed_libraries(const InputFile& file, const fs::path& folder,
                                                 SearchEnvironment environment) {
  return Search(environment).run(file, folder);
}

std::string expand_tokens(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string expanded;
  while (!text.empty()) {
    const auto found = std::find_if(values.begin(), values.end(), [&](const auto& value) {
      return token_size(text, value.first) > 0;
    });
    expanded += found != values.end() ? std::string_view(found->second) : text.substr(0, 1);
    text.remove_prefix(found != values.end() ? token_size(text, found->first) : 1);
  }
  return expanded;
}

std::uint64_t load_key(std::uint64_t content_hash, const std::vector<NeededLibrary>& libraries) {
  std::string text = std::to_string(content_hash);
  for (std::size_t i = 1; i < libraries.size(); ++i) {
    const auto& stamp = libraries[i].stamp;
    text += '\n' + libraries[i].path.string() + '\0';
    for (const auto number : {stamp.number, stamp.size}) text += std::to_string(number) + ' ';
    for (const auto time : {stamp.modified_s, stamp.modified_ns, stamp.changed_s, stamp.changed_ns})
      text += std::to_string(time) + ' ';
  }
  return XXH3_64bits(text.data(), text.size());
}

std::uint64_t load_key(const fs::path& path, const InputFile& file) {
  const auto hash = content_hash(file);
  try {
    return load_key(hash, find_needed_libraries(file, path.parent_path()));
  } catch (const PluginError&) {
    return load_key(hash, {});
  }
}

}  // namespace tenon
