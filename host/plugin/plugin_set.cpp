#include "plugin/plugin_set.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "plugin/catalog_builder.hpp"
#include "plugin/discovery/plugin_folder.hpp"
#include "plugin/file_records.hpp"
#include "plugin/missing_operators.hpp"
#include "plugin/operator_loader.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

fs::path absolute_path(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error).lexically_normal();
  return error ? path : whole;
}

OperatorInfo read_own_manifest(std::span<const std::byte> manifest, const tenon_operator* table) {
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
  return info;
}

}  // namespace

struct PluginSet::Impl {
  Impl(const PluginOptions& options, const tenon_host& host, PluginSet& plugins) : loader(options, host, files, plugins) {
    builder.prefer(options.prefer);
  }

  std::vector<int> read(const std::vector<fs::path>& paths);
  int number_of(Candidate candidate);
  void publish();
  std::shared_ptr<const CatalogIndex> current() const;
  std::shared_ptr<const Definition> find(std::string_view name, std::string_view home = {}) const;
  std::shared_ptr<const Definition> choose(const SavedOperator& saved, const Fits& fits, std::string& note) const;
  template <class StillMeant>
  const LoadedOperator* load(const std::shared_ptr<const Definition>& definition, std::string_view name, StillMeant still_meant);
  void warn_of_short_name(const LoadedOperator& op, std::string_view name) const;

  FileRecords files;
  OperatorLoader loader;

  std::mutex adding;  // one call adds at a time
  CatalogBuilder builder;
  std::map<fs::path, int> newest;  // number of what was last read from there

  mutable std::mutex swapping;  // held for the pointer alone
  std::shared_ptr<const CatalogIndex> index = std::make_shared<const CatalogIndex>();
  std::atomic<std::uint64_t> generation = 0;
};

std::shared_ptr<const CatalogIndex> PluginSet::Impl::current() const {
  const std::lock_guard lock(swapping);
  return index;
}

std::shared_ptr<const Definition> PluginSet::Impl::find(std::string_view name, std::string_view home) const {
  const auto all = current();
  const auto found = all->find(name, home);
  return found == CatalogIndex::nowhere ? nullptr : all->definitions[found];
}

std::shared_ptr<const Definition> PluginSet::Impl::choose(const SavedOperator& saved, const Fits& fits, std::string& note) const {
  const auto all = current();
  const auto found = find_saved(*all, *files.all(), saved, note);
  if (found == CatalogIndex::nowhere) return nullptr;
  const auto& meant = all->definitions[found];
  const auto others = all->other_versions.find(meant->info->full_name());
  if (others == all->other_versions.end()) return meant;
  std::vector<std::shared_ptr<const Definition>> versions{meant};
  versions.insert(versions.end(), others->second.begin(), others->second.end());
  const auto first = versions.begin() + (saved.info == nullptr ? 1 : 0);
  std::stable_sort(first, versions.end(), [](const auto& left, const auto& right) { return left->info->version > right->info->version; });
  const auto chosen = std::find_if(versions.begin(), versions.end(), [&](const auto& version) { return fits(*version->info); });
  return chosen == versions.end() ? meant : *chosen;
}

void PluginSet::Impl::warn_of_short_name(const LoadedOperator& op, std::string_view name) const {
  if (op.warn == nullptr || !*op.warn) return;
  const auto all = current();
  if (const auto found = all->names.find(name); found != all->names.end() && !found->second.warning.empty())
    (*op.warn)("short name " + std::string(name), found->second.warning);
}

/// Null where the name means another operator by now: what went wrong with the old one is nobody's concern any more.
template <class StillMeant>
const LoadedOperator* PluginSet::Impl::load(const std::shared_ptr<const Definition>& definition, std::string_view name,
                                            StillMeant still_meant) {
  try {
    return &loader.load(definition);
  } catch (const PluginError& error) {
    if (!still_meant()) return nullptr;
    const auto file = files.file(definition->file);
    throw Failure(FailureKind::plugin, "operator '" + std::string(name) + "' cannot be used: " + file.path.string() + " " + error.what(),
                  next_step(file));
  }
}

/// Their numbers. What was read before and has not changed since is not read again, unless it was refused.
std::vector<int> PluginSet::Impl::read(const std::vector<fs::path>& paths) {
  std::vector<int> numbers;
  std::vector<fs::path> unknown;
  for (const auto& path : paths) {
    const auto known = newest.find(path);
    if (known != newest.end() && builder.file(known->second).sound && builder.file(known->second).stamp == FileStamp::of(path))
      numbers.push_back(known->second);
    else
      unknown.push_back(path);
  }
  auto candidates = read_candidates(unknown, [&](const fs::path& path, const InputFile& file) { loader.admit(path, file); });
  for (auto& candidate : candidates) numbers.push_back(number_of(std::move(candidate)));
  return numbers;
}

int PluginSet::Impl::number_of(Candidate candidate) {
  const auto known = newest.find(candidate.file.path);
  int old = -1;
  if (known != newest.end()) {
    if (builder.file(known->second).sound)
      builder.supersede(known->second);
    else
      old = known->second;  // nothing was ever taken from a file that was refused: its place is free
  }
  auto file = candidate.file;
  auto operators = candidate.operators;
  const int number = builder.add_file(std::move(candidate), old);
  newest[file.path] = number;
  files.put(number, std::move(file), std::move(operators));
  return number;
}

// The files first: the catalog speaks of them.
void PluginSet::Impl::publish() {
  auto built = builder.build(*current());
  files.judge(built.unused);
  const std::lock_guard lock(swapping);
  index = std::move(built.index);
  generation.fetch_add(1, std::memory_order_release);
}

PluginSet::PluginSet(const PluginOptions& options, const tenon_host& host) : impl_(std::make_unique<Impl>(options, host, *this)) {}

PluginSet::~PluginSet() = default;

void PluginSet::scan(const fs::path& folder) {
  const std::lock_guard lock(impl_->adding);
  const auto whole = absolute_path(folder);
  const auto files = list_plugin_files(whole);
  impl_->builder.add_layer({impl_->read(files)});
  impl_->builder.add_searched(whole);
  impl_->publish();
}

void PluginSet::scan_defaults(const std::vector<fs::path>& folders) {
  const std::lock_guard lock(impl_->adding);
  std::vector<std::vector<fs::path>> files;
  files.reserve(folders.size());
  for (const auto& folder : folders) files.push_back(list_plugin_files(absolute_path(folder)));
  std::vector<std::vector<int>> numbers;
  for (auto& paths : files) {  // what the application gave itself stays where that put it
    std::erase_if(paths, [&](const fs::path& path) { return impl_->newest.contains(path); });
    numbers.push_back(impl_->read(paths));
  }
  impl_->builder.add_layer(numbers, CatalogBuilder::Layer::defaults);
  for (const auto& folder : folders) impl_->builder.add_searched(absolute_path(folder));
  impl_->publish();
}

void PluginSet::add_file(const fs::path& file) {
  const std::lock_guard lock(impl_->adding);
  impl_->builder.add_named(impl_->read({absolute_path(file)}));
  impl_->publish();
}

std::string PluginSet::add(std::span<const std::byte> manifest, const tenon_operator* table, OperatorFactory make) {
  auto info = read_own_manifest(manifest, table);
  OwnOperator own{table, make ? std::make_shared<const OperatorFactory>(std::move(make)) : nullptr};
  const std::lock_guard lock(impl_->adding);
  auto name = impl_->builder.add_own(std::move(info), std::move(own));
  impl_->publish();
  return name;
}

void PluginSet::add_builtin(std::span<const std::byte> manifest, const tenon_operator* table, OperatorFactory make, bool allocates) {
  auto info = read_own_manifest(manifest, table);
  for (auto& output : info.outputs) output.allocated = output.allocated || allocates;
  OwnOperator own{table, make ? std::make_shared<const OperatorFactory>(std::move(make)) : nullptr};
  const std::lock_guard lock(impl_->adding);
  impl_->builder.add_builtin(std::move(info), std::move(own));
  impl_->publish();
}

std::string PluginSet::name_of(const tenon_operator* table, std::string_view preferred) const {
  const auto index = impl_->current();
  const auto stands_for_it = [&](std::size_t i) { return index->definitions[i]->file < 0 && index->definitions[i]->own.table == table; };
  if (const auto i = index->find(preferred); i != CatalogIndex::nowhere && stands_for_it(i)) return index->operators[i].full_name();
  for (std::size_t i = 0; i < index->definitions.size(); ++i)
    if (stands_for_it(i)) return index->operators[i].full_name();
  return {};
}

// Files only grow in number, so those that are asked for second have all that the index speaks of.
Catalog PluginSet::catalog() const {
  auto index = impl_->current();
  return {std::move(index), impl_->files.all()};
}

bool PluginSet::has(std::string_view op) const {
  return impl_->find(op) != nullptr;
}

PluginSet::Found PluginSet::find(const SavedOperator& saved) const {
  const auto index = impl_->current();
  Found found;
  if (const auto i = find_saved(*index, *impl_->files.all(), saved, found.note); i != CatalogIndex::nowhere)
    found.name = index->operators[i].full_name();
  return found;
}

PluginSet::Chosen PluginSet::choose(const SavedOperator& saved, const Fits& fits) const {
  std::string note;
  const auto chosen = impl_->choose(saved, fits, note);
  return chosen == nullptr ? Chosen() : Chosen{chosen->info, chosen->file};
}

const LoadedOperator& PluginSet::load(const SavedOperator& saved, const Fits& fits) {
  for (;;) {
    std::string note;
    const auto chosen = impl_->choose(saved, fits, note);
    if (chosen == nullptr) return load(saved.name);
    const auto* op = impl_->load(chosen, saved.name, [&] { return impl_->choose(saved, fits, note) == chosen; });
    if (op == nullptr) continue;
    if (!note.empty() && op->warn != nullptr && *op->warn) (*op->warn)(note, note);
    if (saved.info == nullptr) impl_->warn_of_short_name(*op, saved.name);
    return *op;
  }
}

std::vector<std::string> PluginSet::served_by(int file, std::string_view device) const {
  const auto index = impl_->current();
  std::vector<std::string> own, kernels;
  for (std::size_t i = 0; i < index->definitions.size(); ++i) {
    const auto& definition = *index->definitions[i];
    const auto has_kernel = [&](const DeviceType& type) {
      const auto& kernel = definition.kernels[type.number];
      const auto& variants = definition.variants[type.number];
      const bool plain = kernel.source == KernelChoice::Source::file && kernel.file == file;
      return device.starts_with(type.name) &&
             (plain || std::any_of(variants.begin(), variants.end(), [&](const auto& variant) { return variant.file == file; }));
    };
    if (definition.file == file)
      own.push_back(definition.info->full_name());
    else if (std::any_of(device_types.begin(), device_types.end(), has_kernel))
      kernels.push_back(definition.info->full_name());
  }
  own.insert(own.end(), kernels.begin(), kernels.end());
  return own;
}

std::uint64_t PluginSet::generation() const {
  return impl_->generation.load(std::memory_order_acquire);
}

const LoadedOperator& PluginSet::load(std::string_view name, std::string_view home) {
  for (;;) {
    const auto definition = impl_->find(name, home);
    if (definition == nullptr) throw missing_operators(catalog(), std::vector<MissingOperator>{{std::string(name), {}}});
    const auto* op = impl_->load(definition, name, [&] { return impl_->find(name, home) == definition; });
    if (op == nullptr) continue;
    if (home.empty()) impl_->warn_of_short_name(*op, name);
    return *op;
  }
}

PluginFile PluginSet::file(int number) const {
  return impl_->files.file(number);
}

std::uint64_t PluginSet::content_hash(int number) {
  const auto file = impl_->files.file(number);
  if (file.content_hash != 0) return file.content_hash;
  try {
    const auto hash = tenon::content_hash(InputFile(file.path));
    impl_->files.set_hash(number, hash);
    return hash;
  } catch (const PluginError&) {
    return 0;
  }
}

}  // namespace tenon
