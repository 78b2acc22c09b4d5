#include "plugin/plugin_set.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "plugin/catalog_builder.hpp"
#include "plugin/discovery/plugin_folder.hpp"
#include "plugin/loading/plugin_loader.hpp"
#include "plugin/refusal.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t first_sdk_without_guesses = 200;  // 0.2.0

bool can_run(const tenon_operator& table) {
  return table.forward || table.forward_sparse || table.backward || table.backward_sparse;
}

}  // namespace

struct PluginSet::Impl {
  struct Loaded {
    OperatorInfo info;  // a copy: the catalog's moves when files are added
    LoadedOperator op;
  };

  Impl(const PluginOptions& options, const tenon_host& host) : host(host), wants_cuda(options.cuda), warn(options.warn), loader(options) {}

  void read(const std::vector<fs::path>& files);
  const LoadedOperator& load(std::string_view name, std::vector<std::pair<std::string, std::string>>& told);
  std::unique_ptr<Loaded> load(const CatalogOperator& op);
  void load_kernel(Loaded& loaded, const char* device, const tenon_operator*& kernel);
  const tenon_operator* table(int file, const std::string& symbol, TableRole role);
  void distrust_guesses(LoadedOperator& op, const tenon_operator& kernel, int file) const;
  [[noreturn]] void fail_unknown(std::string_view op) const;

  const tenon_host& host;
  std::function<bool()> wants_cuda;
  std::function<void(const std::string&, const std::string&)> warn;
  std::vector<std::pair<std::string, std::string>> warnings;  // of the load that goes on: told when nothing is locked any more
  std::optional<bool> cuda;                                   // known from the first load on
  PluginLoader loader;
  Catalog catalog;
  CatalogBuilder builder{catalog};
  std::set<fs::path> known;
  std::map<std::string, const tenon_operator*> own_tables;
  std::mutex loading;
  std::map<std::pair<int, std::string>, std::unique_ptr<Loaded>> loaded;  // by file and operator
};

void PluginSet::Impl::read(const std::vector<fs::path>& files) {
  std::vector<fs::path> unknown;
  std::copy_if(files.begin(), files.end(), std::back_inserter(unknown), [&](const fs::path& file) { return known.insert(file).second; });
  builder.add(read_candidates(unknown, [&](const fs::path& path, const InputFile& file) { loader.admit(path, file); }));
}

const tenon_operator* PluginSet::Impl::table(int file, const std::string& symbol, TableRole role) {
  std::vector<const OperatorInfo*> expected;
  for (const CatalogOperator& op : catalog.operators()) {
    if (op.file == file) expected.push_back(&op.info);
  }
  auto& plugin = catalog.files_[static_cast<std::size_t>(file)];
  Library& library = loader.open(plugin, expected);
  const auto* table = library.table(symbol, role, host);
  const auto path = plugin.path.string();
  if (!library.left_modes().empty())
    warnings.emplace_back("floating-point modes of " + path, path + " changes floating-point modes when it is loaded (" +
                                                                 library.left_modes() +
                                                                 "); they are put back: link it without -ffast-math");
  return table;
}

std::unique_ptr<PluginSet::Impl::Loaded> PluginSet::Impl::load(const CatalogOperator& op) {
  if (!cuda) cuda = wants_cuda();
  auto made = std::make_unique<Loaded>();
  made->info = op.info;
  made->op.info = &made->info;
  made->op.file = op.file;
  made->op.warn = &warn;
  made->op.table = op.file < 0 ? own_tables.at(op.info.name) : table(op.file, TENON_GET_SYMBOL_PREFIX + op.info.name, TableRole::op);
  load_kernel(*made, "cpu", made->op.cpu);
  if (*cuda) load_kernel(*made, "cuda", made->op.cuda);
  return made;
}

/// A kernel that cannot be loaded leaves the operator without it: its other devices go on working.
void PluginSet::Impl::load_kernel(Loaded& made, const char* device, const tenon_operator*& kernel) {
  const KernelChoice choice = builder.kernel(made.info.name, device);
  if (choice.source == KernelChoice::Source::own && can_run(*made.op.table)) {
    kernel = made.op.table;
    distrust_guesses(made.op, *kernel, made.op.file);
  }
  if (choice.source != KernelChoice::Source::file) return;
  try {
    const std::string symbol = std::string(TENON_KERNEL_SYMBOL_PREFIX) + device + "__" + made.info.name;
    kernel = table(choice.file, symbol, TableRole::kernel);
    distrust_guesses(made.op, *kernel, choice.file);
  } catch (const Refusal& refusal) {
    if (!made.op.kernel_trouble.empty()) made.op.kernel_trouble += "; ";
    made.op.kernel_trouble += "the " + std::string(device) + " kernel of operator '" + made.info.name +
                              "' cannot be used: " + catalog.files()[static_cast<std::size_t>(choice.file)].path.string() + " " +
                              refusal.what();
  }
}

/// A record without a version is of a plugin that no SDK made.
void PluginSet::Impl::distrust_guesses(LoadedOperator& op, const tenon_operator& kernel, int file) const {
  if (!op.info->elementwise || kernel.backward_sparse == nullptr || file < 0) return;
  const auto& plugin = catalog.files()[static_cast<std::size_t>(file)];
  const auto version = plugin.sdk_version;
  if (version == 0 || version >= first_sdk_without_guesses) return;
  op.sparse_gradient_trouble = plugin.path.string() + " was built with SDK " + std::to_string(version / 10000) + "." +
                               std::to_string(version / 100 % 100) + "." + std::to_string(version % 100) +
                               ", which guesses where sparse gradients of '" + op.info->name +
                               "' are 0: rebuild it with SDK 0.2 or later";
}

void PluginSet::Impl::fail_unknown(std::string_view op) const {
  const std::string name(op);
  if (const std::string reason = catalog.why_missing(op); !reason.empty()) {
    throw Failure(FailureKind::plugin, "operator '" + name + "' cannot be used: " + reason, catalog.next_step(op));
  }
  std::string hint;
  for (const std::string& near : catalog.near(op)) hint += (hint.empty() ? "did you mean '" : "', '") + near;
  hint += hint.empty() ? "" : "'? ";
  std::string searched;
  for (const fs::path& folder : catalog.searched()) searched += (searched.empty() ? "searched: " : ", ") + folder.string();
  throw Failure(FailureKind::plugin, "operator '" + name + "' is unknown",
                hint + (searched.empty() ? "no plugin folder was given" : searched));
}

PluginSet::PluginSet(const PluginOptions& options, const tenon_host& host) : impl_(std::make_unique<Impl>(options, host)) {}

PluginSet::~PluginSet() = default;

void PluginSet::scan(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::absolute(folder, error).lexically_normal();
  const auto files = list_plugin_files(error ? folder : whole);
  impl_->catalog.searched_.push_back(error ? folder : whole);
  impl_->read(files);
}

void PluginSet::add_file(const fs::path& file) {
  std::error_code error;
  const fs::path whole = fs::absolute(file, error).lexically_normal();
  impl_->read({error ? file : whole});
}

void PluginSet::add(std::span<const std::byte> manifest, const tenon_operator* table) {
  OperatorInfo info;
  try {
    info = read_manifest(manifest);
  } catch (const Failure& failure) {
    throw Failure(FailureKind::usage,
                  std::string("an operator of the application cannot be added: its manifest is broken: ") + failure.what());
  }
  if (const char* fault = table_fault(table, TableRole::op)) {
    throw Failure(FailureKind::usage, "operator '" + info.name + "' of the application cannot be added: its table " + fault);
  }
  const std::string name = info.name;
  impl_->builder.add_own(std::move(info));
  impl_->own_tables[name] = table;
}

const Catalog& PluginSet::catalog() const {
  return impl_->catalog;
}

const LoadedOperator& PluginSet::load(std::string_view name) {
  std::vector<std::pair<std::string, std::string>> warnings;
  const auto& op = impl_->load(name, warnings);
  if (impl_->warn)
    for (const auto& [key, sentence] : warnings) impl_->warn(key, sentence);
  return op;
}

const LoadedOperator& PluginSet::Impl::load(std::string_view name, std::vector<std::pair<std::string, std::string>>& told) {
  const std::lock_guard lock(loading);
  const CatalogOperator* op = catalog.find(name);
  if (!op) fail_unknown(name);
  auto& made = loaded[{op->file, op->info.name}];
  if (made) return made->op;
  try {
    made = load(*op);
  } catch (const Refusal& refusal) {
    throw Failure(FailureKind::plugin,
                  "operator '" + std::string(name) +
                      "' cannot be used: " + catalog.files()[static_cast<std::size_t>(op->file)].path.string() + " " + refusal.what(),
                  next_step(catalog.files()[static_cast<std::size_t>(op->file)]));
  }
  told = std::exchange(warnings, {});
  return made->op;
}

std::uint64_t PluginSet::content_hash(int file) {
  const std::lock_guard lock(impl_->loading);
  std::uint64_t& hash = impl_->catalog.files_.at(static_cast<std::size_t>(file)).content_hash;
  try {
    if (hash == 0) hash = tenon::content_hash(InputFile(impl_->catalog.files()[static_cast<std::size_t>(file)].path));
  } catch (const Refusal&) {
    hash = 0;
  }
  return hash;
}

}  // namespace tenon
