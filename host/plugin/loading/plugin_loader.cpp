#include "plugin/loading/plugin_loader.hpp"

#include <algorithm>

#include "plugin/discovery/candidate.hpp"
#include "plugin/discovery/plugin_symbols.hpp"
#include "plugin/library_place.hpp"
#include "plugin/loading/bundled_dependencies.hpp"
#include "plugin/loading/loaded_libraries.hpp"
#include "plugin/loading/loader_message.hpp"
#include "plugin/loading/probe.hpp"
#include "plugin/loading/user_folders.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

std::vector<std::string> table_symbols(const PluginFile& file) {
  std::vector<std::string> symbols;
  for (const std::string& op : file.operators) symbols.push_back(TENON_GET_SYMBOL_PREFIX + op);
  for (const KernelInfo& kernel : file.kernels) symbols.push_back(kernel_symbol(kernel));
  return symbols;
}

/// The copy was made later than the catalog: it must still say what the catalog says.
void require_unchanged(const PrivateCopy& copy, const PluginFile& file, const PluginLoader::Operators& expected) {
  const Candidate now = read_candidate(copy.path(), [](const InputFile&) {});
  const auto has = [&](const auto& info) {
    return std::any_of(now.operators.begin(), now.operators.end(), [&](const auto& op) { return op->manifest == info->manifest; });
  };
  const bool same =
      now.file.usable() && table_symbols(now.file) == table_symbols(file) && std::all_of(expected.begin(), expected.end(), has);
  if (!same)
    throw PluginError(PluginStatus::not_loadable,
                      "has changed since its folder was read: add the folder again (Host::add_plugins), or start again");
}

}  // namespace

PluginLoader::PluginLoader(const PluginOptions& options)
    : options_(options), history_(options.cache.empty() ? user_cache_folder() : options.cache) {
  if (options_.probe_program.empty()) options_.probe_program = find_beside_library("tenon-probe");
  auto& worker = options_.isolation.program;
  if (worker.empty()) worker = find_beside_library("tenon-worker");
  if (options_.trusted_only) lists_.emplace(options_.config);
}

void PluginLoader::admit(const std::filesystem::path& path, const InputFile& file) {
  const std::lock_guard lock(admitting_);
  admit_place(path, file);
  admit_content(path, file);
}

void PluginLoader::admit_content(const std::filesystem::path& path, const InputFile& content) {
  if (!lists_) return;
  if (const std::string fault = lists_->fault(path, content); !fault.empty()) throw PluginError(PluginStatus::unlisted, fault);
}

void PluginLoader::admit_place(const std::filesystem::path& path, const InputFile& file) {
  if (!options_.trust_writable) {
    if (const std::string fault = trust_.fault(path, file); !fault.empty()) throw PluginError(PluginStatus::untrusted, fault);
  }
  const QuarantineEntry* entry = history_.find_quarantined(path, [&] { return content_hash(file); });
  if (entry) throw PluginError(PluginStatus::quarantined, "is quarantined: it " + entry->reason);
}

// One that another took the place of meanwhile is a duplicate, which may be loaded: who asks for it began before that.
template <class Work>
void PluginLoader::try_to(PluginFile& file, const Operators& expected, Work work) {
  if (!file.usable() && file.status != PluginStatus::duplicate) throw PluginError(file.status, file.reason);
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
  if (const auto loaded = libraries_.find(number); loaded != libraries_.end()) return loaded->second;
  try_to(file, expected, [&](PrivateCopy& bytes) {
    Library library = load(file, bytes);
    history_.remember_loaded(file.path, file.content_hash);
    libraries_.emplace(number, library);
  });
  return libraries_.at(number);
}

bool PluginLoader::isolates(const PluginFile& file) const {
  const auto& isolation = options_.isolation;
  return isolation.all ||
         std::any_of(isolation.plugins.begin(), isolation.plugins.end(), [&](const auto& name) { return is_called(file, name); });
}

// Its worker is the child process that tries it. That it did no harm there is not remembered: there it may do less than here.
IsolatedPlugin& PluginLoader::open_isolated(int number, PluginFile& file, const Operators& expected) {
  if (const auto loaded = isolated_.find(number); loaded != isolated_.end()) return *loaded->second;
  try_to(file, expected, [&](PrivateCopy& bytes) { isolated_.emplace(number, start_worker(file, bytes)); });
  return *isolated_.at(number);
}

std::shared_ptr<IsolatedPlugin> PluginLoader::start_worker(const PluginFile& file, PrivateCopy& copy) {
  const auto& isolation = options_.isolation;
  if (isolation.program.empty()) {
    throw Failure(FailureKind::failed, "the program tenon-worker, which runs isolated plugins, is not beside Tenon's library",
                  "install Tenon whole");
  }
  const auto sealed = std::make_shared<Sealed>();  // a worker that is started again must run the same code
  const auto dependencies = admit_dependencies(file, copy, true, *sealed);
  copy.keep_open();
  try {
    return std::make_shared<IsolatedPlugin>(
        WorkerPlugin{file.path.filename().string(), copy.descriptor(), dependencies,
                     find_dependencies_elsewhere(InputFile(copy.path()), file.path.parent_path()), sealed},
        WorkerOptions{isolation.program, options_.probe_timeout_ms, std::min(isolation.call_seconds, longest_call_seconds),
                      isolation.memory, isolation.threads});
  } catch (const WorkerStartError& error) {
    using Reason = WorkerStartError::Reason;
    if (error.reason() == Reason::not_opened) throw explain_loader_message(error.what());
    const std::lock_guard lock(admitting_);
    history_.add_to_quarantine(file.path, copy.content_hash(), error.what());
    throw PluginError(error.reason() == Reason::hung ? PluginStatus::hung : PluginStatus::crashed, error.what());
  }
}

Library PluginLoader::load(const PluginFile& file, PrivateCopy& copy) {
  Sealed sealed;
  const auto dependencies = admit_dependencies(file, copy, false, sealed);
  auto& all = LoadedLibraries::of_this_process();
  if (const auto loaded = all.find(file.path, copy.content_hash())) return *loaded;
  try_in_child(file, copy, dependencies);
  Library library(copy.path(), dependencies, file.path);
  copy.keep_open();
  for (const auto& dependency : sealed) dependency->keep_open();
  all.add(file.path, copy.content_hash(), library);
  return library;
}

std::unique_ptr<PrivateCopy> PluginLoader::copy(const PluginFile& file, const Operators& expected) {
  const InputFile input(file.path);
  const std::lock_guard lock(admitting_);
  admit_place(file.path, input);
  auto copy = std::make_unique<PrivateCopy>(input, file.path);
  if (lists_) admit_content(file.path, InputFile(copy->path()));  // the sealed bytes: the file may be another by now
  require_unchanged(*copy, file, expected);
  return std::make_unique<PrivateCopy>(InputFile(copy->path()), file.path, PrivateCopy::Symbols::own_first);
}

std::vector<std::filesystem::path> PluginLoader::admit_dependencies(const PluginFile& file, const PrivateCopy& copy, bool seal,
                                                                    Sealed& sealed) {
  auto dependencies = find_bundled_dependencies(InputFile(copy.path()), file.path.parent_path());
  const std::lock_guard lock(admitting_);
  for (auto& dependency : dependencies) {
    const auto refuse = [&](PluginStatus status, const std::string& fault) {
      if (!fault.empty()) throw PluginError(status, "needs the library " + dependency.string() + ", which " + fault);
    };
    const InputFile library(dependency);
    if (!options_.trust_writable) refuse(PluginStatus::untrusted, trust_.fault(dependency, library));
    if (!lists_ && !seal) continue;
    sealed.push_back(std::make_unique<PrivateCopy>(library, dependency));
    if (lists_) refuse(PluginStatus::unlisted, lists_->fault(dependency, InputFile(sealed.back()->path())));
    dependency = sealed.back()->path();
  }
  return dependencies;
}

void PluginLoader::try_in_child(const PluginFile& file, const PrivateCopy& copy, const std::vector<std::filesystem::path>& dependencies) {
  if (!options_.probe || history_.was_loaded(file.path, copy.content_hash())) return;
  if (options_.probe_program.empty()) {
    throw Failure(FailureKind::failed, "the program tenon-probe, which tries a plugin before its first load, is not beside Tenon's library",
                  "install Tenon whole, or give its path as PluginOptions::probe_program");
  }
  try {
    probe_library(copy.descriptor(), dependencies, table_symbols(file), {options_.probe_program, options_.probe_timeout_ms});
  } catch (const PluginError& error) {
    const bool dangerous = error.status() == PluginStatus::crashed || error.status() == PluginStatus::hung;
    if (dangerous) {
      const std::lock_guard lock(admitting_);
      history_.add_to_quarantine(file.path, copy.content_hash(), error.what());
    }
    throw;
  }
}

}  // namespace tenon
