#include "plugin/loading/plugin_loader.hpp"

#include <algorithm>

#include "plugin/discovery/candidate.hpp"
#include "plugin/discovery/plugin_symbols.hpp"
#include "plugin/library_location.hpp"
#include "plugin/loading/loaded_libraries.hpp"
#include "plugin/loading/probe.hpp"
#include "plugin/loading/system_loader.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

std::vector<std::string> table_symbols(const PluginFile& file) {
  std::vector<std::string> symbols;
  for (const std::string& op : file.operators) symbols.push_back(TENON_GET_SYMBOL_PREFIX + op);
  for (const KernelInfo& kernel : file.kernels) symbols.push_back(kernel_symbol(kernel));
  return symbols;
}

/// The copy is newer than the catalog, so its content must still match.
void require_unchanged(const PrivateCopy& copy, const PluginFile& file,
                       const PluginLoader::Operators& expected) {
  const Candidate now = read_candidate(copy.path(), [](const InputFile&) {});
  const auto has = [&](const auto& info) {
    return std::any_of(now.operators.begin(), now.operators.end(),
                       [&](const auto& op) { return op->manifest == info->manifest; });
  };
  const bool same = now.file.usable() && table_symbols(now.file) == table_symbols(file) &&
                    std::all_of(expected.begin(), expected.end(), has);
  if (!same)
    throw PluginError(PluginStatus::not_loadable,
                      "has changed since its folder was read: add the folder again "
                      "(Host::add_plugins), or restart the program");
}

}  // namespace

PluginLoader::PluginLoader(const PluginOptions& options)
    : options_(options), history_(options.cache.empty() ? user_cache_folder() : options.cache) {
  if (options_.probe_program.empty()) options_.probe_program = find_next_to_library("tenon-probe");
  auto& worker = options_.isolation.program;
  if (worker.empty()) worker = find_next_to_library("tenon-worker");
  if (options_.trusted_only) lists_.emplace(options_.config);
}

void PluginLoader::admit(const std::filesystem::path& path, const InputFile& file) {
  const std::lock_guard lock(admitting_);
  admit_path(path, file);
  admit_content(path, file);
}

void PluginLoader::admit_content(const std::filesystem::path& path, const InputFile& content) {
  if (!lists_) return;
  if (const std::string fault = lists_->fault(path, content); !fault.empty())
    throw PluginError(PluginStatus::unlisted, fault);
}

void PluginLoader::admit_path(const std::filesystem::path& path, const InputFile& file) {
  if (!options_.trust_writable) {
    if (const std::string fault = trust_.fault(path, file); !fault.empty())
      throw PluginError(PluginStatus::untrusted, fault);
  }
  const QuarantineEntry* entry =
      history_.find_quarantined(path, [&] { return load_key(path, file); });
  if (entry) throw PluginError(PluginStatus::quarantined, "is quarantined: it " + entry->reason);
}

// A file that was replaced meanwhile is a duplicate; it may still be loaded for callers that
// started before that.
template <class Work>
void PluginLoader::try_to(PluginFile& file, const Operators& expected, Work work) {
  if (!file.usable() && file.status != PluginStatus::duplicate)
    throw PluginError(file.status, file.reason);
  try {
    const auto bytes = copy(file, expected);
    file.content_hash = bytes->content_hash();
    work(*bytes);
    file.status = PluginStatus::loaded;
    file.reason.clear();
  } catch (const PluginError& error) {
    file.status = error.status();
    file.reason = error.what();
    throw;
  }
}

Library& PluginLoader::open(int number, PluginFile& file, const Operators& expected) {
  if (const auto loaded = libraries_.find(number); loaded != libraries_.end())
    return loaded->second;
  try_to(file, expected,
         [&](PrivateCopy& bytes) { libraries_.emplace(number, load(file, bytes)); });
  return libraries_.at(number);
}

bool PluginLoader::isolates(const PluginFile& file) const {
  const auto& isolation = options_.isolation;
  return isolation.all || std::any_of(isolation.plugins.begin(), isolation.plugins.end(),
                                      [&](const auto& name) { return is_called(file, name); });
}

// The worker itself is the test load in a child process. Success there is not remembered, because
// code in a worker may do less than here.
IsolatedPlugin& PluginLoader::open_isolated(int number, PluginFile& file,
                                            const Operators& expected) {
  if (const auto loaded = isolated_.find(number); loaded != isolated_.end()) return *loaded->second;
  try_to(file, expected,
         [&](PrivateCopy& bytes) { isolated_.emplace(number, start_worker(file, bytes)); });
  return *isolated_.at(number);
}

std::shared_ptr<IsolatedPlugin> PluginLoader::start_worker(const PluginFile& file,
                                                           PrivateCopy& copy) {
  const auto& isolation = options_.isolation;
  if (isolation.program.empty()) {
    throw Failure(FailureKind::failed,
                  "tenon-worker, which runs isolated plugins, is missing next to Tenon's library",
                  "reinstall Tenon completely");
  }
  const auto libraries = admit_libraries(file, copy);
  const auto key = load_key(copy.content_hash(), libraries);
  // Keep the copies, because a restarted worker must run the same code.
  const auto sealed = std::make_shared<Sealed>(seal(file, copy, libraries, LoadTarget::worker));
  WorkerPlugin plugin{.path = file.path,
                      .descriptor = copy.descriptor(),
                      .libraries = {},
                      .readable = {},
                      .library_owner = sealed};
  for (const auto& library : *sealed) plugin.libraries.push_back(library->descriptor());
  for (const auto& library : libraries)
    if (library.found == NeededLibrary::Found::by_path)
      plugin.readable.push_back(std::filesystem::absolute(library.path));
  copy.keep_open();
  try {
    return std::make_shared<IsolatedPlugin>(
        plugin, WorkerOptions{isolation.program, options_.probe_timeout_ms,
                              std::min(isolation.call_seconds, max_call_seconds), isolation.memory,
                              isolation.threads});
  } catch (const WorkerStartError& error) {
    using Reason = WorkerStartError::Reason;
    if (error.reason() == Reason::not_opened) throw explain_loader_message(error.what());
    quarantine(file, key, error.what());
    throw PluginError(error.reason() == Reason::hung ? PluginStatus::hung : PluginStatus::crashed,
                      error.what());
  }
}

Library PluginLoader::load(const PluginFile& file, PrivateCopy& copy) {
  const auto libraries = admit_libraries(file, copy);
  auto& all = LoadedLibraries::of_this_process();
  const auto key = load_key(copy.content_hash(), libraries);
  if (const auto loaded = all.find(file.path, key)) return *loaded;
  const auto sealed =
      seal(file, copy, libraries,
           all.clash(libraries) ? LoadTarget::separate_libraries : LoadTarget::this_process);
  try_in_child(file, copy, key);
  auto brought = LoadedLibraries::missing(libraries);
  Library library(copy.path(), file.path);
  copy.keep_open();
  for (const auto& sealed_copy : sealed) sealed_copy->keep_open();
  history_.remember_loaded(file.path, key);
  all.add(file.path, key, library);
  all.add(std::move(brought));
  return library;
}

std::unique_ptr<PrivateCopy> PluginLoader::copy(const PluginFile& file, const Operators& expected) {
  const InputFile input(file.path);
  const std::lock_guard lock(admitting_);
  admit_path(file.path, input);
  auto copy = std::make_unique<PrivateCopy>(input, file.path);
  // check the copied bytes, because the file may have changed
  if (lists_) admit_content(file.path, InputFile(copy->path()));
  require_unchanged(*copy, file, expected);
  return copy;
}

/// Throws if the library has a fault.
static void require_none(const std::string& fault, PluginStatus status,
                         const NeededLibrary& library) {
  if (!fault.empty())
    throw PluginError(status, "needs the library " + library.path.string() + ", which " + fault);
}

PluginLoader::Libraries PluginLoader::admit_libraries(const PluginFile& file,
                                                      const PrivateCopy& copy) {
  auto libraries = find_needed_libraries(InputFile(copy.path()), file.path.parent_path());
  const std::lock_guard lock(admitting_);
  for (auto library = libraries.rbegin(); library + 1 != libraries.rend(); ++library) {
    if (library->found != NeededLibrary::Found::bundled) continue;
    const InputFile content(library->path);
    if (!options_.trust_writable)
      require_none(trust_.fault(library->path, content), PluginStatus::untrusted, *library);
    if (lists_)
      require_none(lists_->fault(library->path, content), PluginStatus::unlisted, *library);
  }
  libraries_of_[file.path] = load_key(0, libraries);
  return libraries;
}

bool PluginLoader::has_other_libraries(const std::filesystem::path& path) {
  const std::lock_guard lock(admitting_);
  const auto loaded = libraries_of_.find(path);
  if (loaded == libraries_of_.end()) return false;
  try {
    return load_key(0, find_needed_libraries(InputFile(path), path.parent_path())) !=
           loaded->second;
  } catch (const PluginError&) {
    return true;
  }
}

/// In run paths, a colon separates folders and a dollar sign may begin a token.
static bool can_be_searched(const std::filesystem::path& folder) {
  return folder.native().find_first_of(":$") == std::string::npos;
}

bool PluginLoader::is_copied(const NeededLibrary& library, LoadTarget target,
                             const std::filesystem::path& folder) const {
  using Found = NeededLibrary::Found;
  if (library.found == Found::bundled)
    return target != LoadTarget::this_process || lists_ || !can_be_searched(folder);
  return library.found == Found::by_path && target == LoadTarget::separate_libraries;
}

PluginLoader::Sealed PluginLoader::seal(const PluginFile& file, PrivateCopy& copy,
                                        const Libraries& libraries, LoadTarget target) {
  const auto folder = file.path.parent_path();
  Sealed sealed;
  std::map<std::size_t, PrivateCopy*> copies{{0, &copy}};
  std::map<std::size_t, std::string> paths;  // paths of copies, as seen by the loader
  for (std::size_t i = 1; i < libraries.size(); ++i) {
    const auto& library = libraries[i];
    if (!is_copied(library, target, folder)) continue;
    const auto number = isolate::first_library_descriptor + static_cast<int>(sealed.size());
    const auto& sealed_copy =
        sealed.emplace_back(std::make_unique<PrivateCopy>(InputFile(library.path), library.path));
    if (lists_) {
      const std::lock_guard lock(admitting_);
      require_none(lists_->fault(library.path, InputFile(sealed_copy->path())),
                   PluginStatus::unlisted,
                   library);  // the file may have changed
    }
    copies[i] = sealed_copy.get();
    paths[i] = target == LoadTarget::worker ? "/proc/self/fd/" + std::to_string(number)
                                            : sealed_copy->path().string();
  }
  for (const auto& [i, sealed_copy] : copies)
    sealed_copy->seal(
        changes_of(libraries, i, i == 0 ? folder : libraries[i].path.parent_path(), paths, target));
  return sealed;
}

CopyChanges PluginLoader::changes_of(const Libraries& libraries, std::size_t object,
                                     const std::filesystem::path& folder,
                                     const std::map<std::size_t, std::string>& copies,
                                     LoadTarget target) {
  CopyChanges changes{.search_itself_first = object == 0, .localize_unique = true};
  for (std::size_t i = 1; i < libraries.size(); ++i)
    if (!copies.contains(i)) changes.shared_with.push_back(libraries[i].path);
  if (can_be_searched(folder)) changes.origin = folder;
  for (const auto& [name, i] : libraries[object].needs) {
    const auto copied = copies.find(i);
    // A worker's current folder differs from this process's, and paths may be relative.
    const bool by_path = libraries[i].found != NeededLibrary::Found::by_system &&
                         (target == LoadTarget::worker || name.find('/') != std::string::npos);
    if (copied != copies.end())
      changes.needed[name] = copied->second;
    else if (by_path)
      changes.needed[name] = std::filesystem::absolute(libraries[i].path).string();
  }
  return changes;
}

void PluginLoader::try_in_child(const PluginFile& file, const PrivateCopy& copy,
                                std::uint64_t key) {
  if (!options_.probe || history_.was_loaded(file.path, key)) return;
  if (options_.probe_program.empty()) {
    throw Failure(FailureKind::failed,
                  "tenon-probe, which tries a plugin before its first load, is missing next to "
                  "Tenon's library",
                  "reinstall Tenon completely, or set PluginOptions::probe_program");
  }
  try {
    probe_library(copy.descriptor(), table_symbols(file),
                  {options_.probe_program, options_.probe_timeout_ms});
  } catch (const PluginError& error) {
    const bool dangerous =
        error.status() == PluginStatus::crashed || error.status() == PluginStatus::hung;
    if (dangerous) quarantine(file, key, error.what());
    throw;
  }
}

void PluginLoader::quarantine(const PluginFile& file, std::uint64_t key,
                              const std::string& reason) {
  const std::lock_guard lock(admitting_);
  history_.add_to_quarantine(file.path, key, reason);
}

}  // namespace tenon
