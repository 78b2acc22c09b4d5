#include "plugin/plugin_set.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <system_error>
#include <utility>

#include "io/open_file.hpp"
#include "plugin/catalog_builder.hpp"
#include "plugin/discovery/candidate.hpp"
#include "plugin/discovery/same_plugin.hpp"
#include "plugin/file_records.hpp"
#include "plugin/missing_operators.hpp"
#include "plugin/operator_loader.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

KnownPlugin known(const Candidate& candidate) {
  return {candidate.file.path, candidate.stamp, candidate.operators};
}
KnownPlugin known(const PluginSource& file) {
  return {file.path, file.stamp, file.operators};
}

OperatorInfo read_in_process_manifest(std::span<const std::byte> manifest,
                                      const tenon_operator* table) {
  OperatorInfo info;
  try {
    info = read_manifest(manifest);
  } catch (const Failure& failure) {
    throw Failure(
        FailureKind::usage,
        std::string("cannot add an operator of the application: its manifest is broken: ") +
            failure.what());
  }
  if (const char* fault = table_fault(table, TableRole::op)) {
    throw Failure(FailureKind::usage,
                  "cannot add operator '" + info.name + "' of the application: its table " + fault);
  }
  return info;
}

}  // namespace

struct PluginSet::Impl {
  Impl(const PluginOptions& options, const tenon_host& host, PluginSet& plugins)
      : loader(options, host, files, plugins) {
    builder.prefer(options.prefer);
  }

  std::vector<int> read(const std::vector<fs::path>& paths);
  bool is_current(int number);
  int current_number(const fs::path& path);
  int same_number(const Candidate& candidate, SamePlugins& same);
  void supersede(int number);
  std::vector<int> numbers_of(std::vector<Candidate> candidates);
  void record_path(const fs::path& path, int number, const FileStamp& stamp);
  int number_of(Candidate candidate);
  void publish();
  std::shared_ptr<const CatalogIndex> current() const;
  std::shared_ptr<const Definition> find(std::string_view name, std::string_view home = {}) const;
  std::shared_ptr<const Definition> choose(const SavedOperator& saved, const Fits& fits,
                                           std::string& note) const;
  template <class StillRefers>
  const LoadedOperator* load(const std::shared_ptr<const Definition>& definition,
                             std::string_view name, StillRefers still_refers);
  void warn_of_short_name(const LoadedOperator& op, std::string_view name) const;

  FileRecords files;
  OperatorLoader loader;

  std::mutex adding;  // one call adds at a time
  CatalogBuilder builder;
  struct Read {
    int number;
    FileStamp stamp;
  };
  std::map<fs::path, Read> newest;  // last file read from each path

  mutable std::mutex swapping;  // held only while the pointer is copied or replaced
  std::shared_ptr<const CatalogIndex> index = std::make_shared<const CatalogIndex>();
  std::atomic<std::uint64_t> generation = 0;
};

std::shared_ptr<const CatalogIndex> PluginSet::Impl::current() const {
  const std::lock_guard lock(swapping);
  return index;
}

std::shared_ptr<const Definition> PluginSet::Impl::find(std::string_view name,
                                                        std::string_view home) const {
  const auto all = current();
  const auto found = all->find(name, home);
  return found == CatalogIndex::nowhere ? nullptr : all->definitions[found];
}

std::shared_ptr<const Definition> PluginSet::Impl::choose(const SavedOperator& saved,
                                                          const Fits& fits,
                                                          std::string& note) const {
  const auto all = current();
  const auto found = find_saved(*all, *files.all(), saved, note);
  if (found == CatalogIndex::nowhere) return nullptr;
  const auto& named = all->definitions[found];
  const auto other_versions = all->other_versions.find(named->info->full_name());
  if (other_versions == all->other_versions.end()) return named;
  std::vector<std::shared_ptr<const Definition>> versions{named};
  versions.insert(versions.end(), other_versions->second.begin(), other_versions->second.end());
  const auto first = versions.begin() + (saved.info == nullptr ? 1 : 0);
  std::stable_sort(first, versions.end(), [](const auto& left, const auto& right) {
    return left->info->version > right->info->version;
  });
  const auto chosen = std::find_if(versions.begin(), versions.end(),
                                   [&](const auto& version) { return fits(*version->info); });
  return chosen == versions.end() ? named : *chosen;
}

void PluginSet::Impl::warn_of_short_name(const LoadedOperator& op, std::string_view name) const {
  if (op.warn == nullptr || !*op.warn) return;
  const auto all = current();
  if (const auto found = all->names.find(name);
      found != all->names.end() && !found->second.warning.empty())
    (*op.warn)("short name " + std::string(name), found->second.warning);
}

/// Returns null if the name now refers to another operator: errors of the replaced operator are
/// ignored.
template <class StillRefers>
const LoadedOperator* PluginSet::Impl::load(const std::shared_ptr<const Definition>& definition,
                                            std::string_view name, StillRefers still_refers) {
  try {
    return &loader.load(definition);
  } catch (const PluginError& error) {
    if (!still_refers()) return nullptr;
    const auto file = files.file(definition->file);
    throw Failure(FailureKind::plugin,
                  "operator '" + std::string(name) + "' cannot be used: " + file.path.string() +
                      " " + error.what(),
                  next_step(file));
  }
}

/// Returns whether the file is valid and can be loaded, and neither it nor the libraries it was
/// loaded with have changed since.
bool PluginSet::Impl::is_current(int number) {
  const auto& file = builder.file(number);
  const auto status = files.file(number).status;
  if (!file.sound || file.stamp != FileStamp::of(file.path)) return false;
  if (status == PluginStatus::loaded) return !loader.has_other_libraries(file.path);
  return status == PluginStatus::indexed || status == PluginStatus::duplicate;
}

/// Returns the number of the file read from the path if it is current, else -1.
int PluginSet::Impl::current_number(const fs::path& path) {
  const auto known = newest.find(path);
  if (known == newest.end() || known->second.stamp != FileStamp::of(path)) return -1;
  return is_current(known->second.number) ? known->second.number : -1;
}

void PluginSet::Impl::supersede(int number) {
  builder.supersede(number);
  files.forget_failure(number);
}

/// Groups candidates that are the same plugin. Each group is represented by the shortest file name,
/// for example rope.so -> rope-1.2.so.
static std::vector<std::size_t> find_same(const std::vector<Candidate>& candidates,
                                          SamePlugins& same) {
  const auto length = [&](std::size_t i) {
    return candidates[i].file.path.filename().native().size();
  };
  std::vector<std::size_t> order(candidates.size()), representative(candidates.size()), first;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return length(a) < length(b); });
  for (const auto i : order) {
    representative[i] = i;
    if (!candidates[i].file.usable()) continue;
    const auto found = std::find_if(first.begin(), first.end(), [&](auto j) {
      return same.are_same(known(candidates[i]), known(candidates[j]));
    });
    if (found == first.end())
      first.push_back(i);
    else
      representative[i] = *found;
  }
  return representative;
}

/// Returns the number of a file that was read before and is the same plugin under another path,
/// else -1.
int PluginSet::Impl::same_number(const Candidate& candidate, SamePlugins& same) {
  for (int i = 0; candidate.file.usable() && i < builder.file_count(); ++i) {
    const auto& file = builder.file(i);
    if (file.path != candidate.file.path && is_current(i) &&
        same.are_same(known(candidate), known(file)))
      return i;
  }
  return -1;
}

/// Returns the numbers of the candidates. Candidates that are the same plugin share one number;
/// within a folder, a shorter file name replaces a longer one.
std::vector<int> PluginSet::Impl::numbers_of(std::vector<Candidate> candidates) {
  SamePlugins same;
  const auto representative = find_same(candidates, same);
  std::vector<int> numbers(candidates.size(), -1);
  std::vector<std::pair<fs::path, FileStamp>> read;
  for (auto& candidate : candidates) read.emplace_back(candidate.file.path, candidate.stamp);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (representative[i] != i) continue;
    const int known = same_number(candidates[i], same);
    const auto before = known < 0 ? fs::path() : builder.file(known).path;
    const bool replaces_known =
        known >= 0 && before.parent_path() == read[i].first.parent_path() &&
        read[i].first.filename().native().size() < before.filename().native().size();
    numbers[i] = known < 0 || replaces_known ? number_of(std::move(candidates[i])) : known;
    if (!replaces_known) continue;
    supersede(known);
    record_path(before, numbers[i], builder.file(known).stamp);
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    numbers[i] = numbers[representative[i]];
    record_path(read[i].first, numbers[i], read[i].second);
  }
  return numbers;
}

/// Records that the path leads to the plugin of that number.
void PluginSet::Impl::record_path(const fs::path& path, int number, const FileStamp& stamp) {
  const auto known = newest.find(path);
  if (known != newest.end() && known->second.number != number &&
      builder.file(known->second.number).path == path && builder.file(known->second.number).sound)
    supersede(known->second.number);
  newest[path] = {number, stamp};
  if (builder.file(number).path == path) return;
  builder.add_path(number, path);
  files.add_path(number, path);
}

/// Returns the numbers of the files. Unchanged files are not read again, unless they were refused
/// or could not be loaded.
std::vector<int> PluginSet::Impl::read(const std::vector<fs::path>& paths) {
  std::vector<int> numbers;
  std::vector<fs::path> unknown;
  for (const auto& path : paths) {
    if (const int known = current_number(path); known >= 0) {
      numbers.push_back(known);
      continue;
    }
    unknown.push_back(path);
    // Also read the plugin's own path, otherwise it would become two plugins.
    if (const auto known = newest.find(path);
        known != newest.end() && builder.file(known->second.number).sound)
      if (const auto& file = builder.file(known->second.number);
          file.path != path && file.stamp == FileStamp::of(file.path))
        unknown.push_back(file.path);
  }
  const auto read = numbers_of(read_candidates(
      unknown, [&](const fs::path& path, const InputFile& file) { loader.admit(path, file); }));
  numbers.insert(numbers.end(), read.begin(), read.end());
  return numbers;
}

int PluginSet::Impl::number_of(Candidate candidate) {
  const auto known = newest.find(candidate.file.path);
  int old = -1;
  if (known != newest.end() && builder.file(known->second.number).path == candidate.file.path) {
    if (builder.file(known->second.number).sound)
      supersede(known->second.number);
    else
      old = known->second.number;  // a refused file provided nothing, so its number can be reused
  }
  auto file = candidate.file;
  auto operators = candidate.operators;
  const int number = builder.add_file(std::move(candidate), old);
  files.put(number, std::move(file), std::move(operators));
  return number;
}

// Updates the files first, because the catalog refers to them.
void PluginSet::Impl::publish() {
  auto built = builder.build(*current());
  files.set_unused(built.unused);
  const std::lock_guard lock(swapping);
  index = std::move(built.index);
  generation.fetch_add(1, std::memory_order_release);
}

PluginSet::PluginSet(const PluginOptions& options, const tenon_host& host)
    : impl_(std::make_unique<Impl>(options, host, *this)) {}

PluginSet::~PluginSet() = default;

void PluginSet::scan(const fs::path& folder) {
  const std::lock_guard lock(impl_->adding);
  const auto whole = absolute_path(folder);
  const auto files = list_plugin_files(whole);
  impl_->builder.add_layer({impl_->read(files)});
  impl_->builder.add_searched(whole);
  impl_->publish();
}

void PluginSet::scan_defaults(const std::vector<fs::path>& paths) {
  const std::lock_guard lock(impl_->adding);
  auto& builder = impl_->builder;
  const int count = builder.file_count();
  std::vector<std::vector<int>> numbers;
  for (const auto& path : paths) {
    const auto whole = absolute_path(path);
    std::error_code error;
    const bool is_file = fs::is_regular_file(whole, error);
    try {
      auto files = is_file ? std::vector<fs::path>{whole} : list_plugin_files(whole);
      // Files that the application added itself keep their precedence.
      std::erase_if(files, [&](const fs::path& path) { return impl_->newest.contains(path); });
      numbers.push_back(impl_->read(files));
      std::erase_if(numbers.back(), [&](int number) { return number < count; });
      if (!is_file) builder.add_searched(whole);
    } catch (const Failure& failure) {
      builder.add_not_searched(std::string(failure.what()) + " (TENON_PLUGIN_PATH)");
    }
  }
  builder.add_layer(numbers, CatalogBuilder::Layer::defaults);
  impl_->publish();
}

void PluginSet::add_file(const fs::path& file) {
  const std::lock_guard lock(impl_->adding);
  impl_->builder.add_named(impl_->read({absolute_path(file)}));
  impl_->publish();
}

std::string PluginSet::add(std::span<const std::byte> manifest, const tenon_operator* table,
                           OperatorFactory make) {
  auto info = read_in_process_manifest(manifest, table);
  InProcessOperator op{table,
                       make ? std::make_shared<const OperatorFactory>(std::move(make)) : nullptr};
  const std::lock_guard lock(impl_->adding);
  auto name = impl_->builder.add_application_operator(std::move(info), std::move(op));
  impl_->publish();
  return name;
}

void PluginSet::add_builtin(std::span<const std::byte> manifest, const tenon_operator* table,
                            OperatorFactory make, bool allocates) {
  auto info = read_in_process_manifest(manifest, table);
  for (auto& output : info.outputs) output.allocated = output.allocated || allocates;
  InProcessOperator op{table,
                       make ? std::make_shared<const OperatorFactory>(std::move(make)) : nullptr};
  const std::lock_guard lock(impl_->adding);
  impl_->builder.add_builtin(std::move(info), std::move(op));
  impl_->publish();
}

std::string PluginSet::name_of(const tenon_operator* table, std::string_view preferred) const {
  const auto index = impl_->current();
  const auto has_table = [&](std::size_t i) {
    return index->definitions[i]->file < 0 && index->definitions[i]->in_process.table == table;
  };
  if (const auto i = index->find(preferred); i != CatalogIndex::nowhere && has_table(i))
    return index->operators[i].full_name();
  for (std::size_t i = 0; i < index->definitions.size(); ++i)
    if (has_table(i)) return index->operators[i].full_name();
  return {};
}

// Files are only ever added, so a snapshot taken after the index has all files that the index
// refers to.
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
  if (const auto i = find_saved(*index, *impl_->files.all(), saved, found.note);
      i != CatalogIndex::nowhere)
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
    const auto* op = impl_->load(chosen, chosen->info->full_name(),
                                 [&] { return impl_->choose(saved, fits, note) == chosen; });
    if (op == nullptr) continue;
    if (!note.empty() && op->warn != nullptr && *op->warn) (*op->warn)(note, note);
    if (saved.info == nullptr) impl_->warn_of_short_name(*op, saved.name);
    return *op;
  }
}

std::vector<std::string> PluginSet::served_by(int file, std::string_view device) const {
  const auto index = impl_->current();
  std::vector<std::string> operators, kernels;
  for (std::size_t i = 0; i < index->definitions.size(); ++i) {
    const auto& definition = *index->definitions[i];
    const auto has_kernel = [&](const DeviceType& type) {
      const auto& kernel = definition.kernels[type.number];
      const auto& variants = definition.variants[type.number];
      const bool plain = kernel.source == KernelChoice::Source::file && kernel.file == file;
      return device.starts_with(type.name) &&
             (plain || std::any_of(variants.begin(), variants.end(),
                                   [&](const auto& variant) { return variant.file == file; }));
    };
    if (definition.file == file)
      operators.push_back(definition.info->full_name());
    else if (std::any_of(device_types.begin(), device_types.end(), has_kernel))
      kernels.push_back(definition.info->full_name());
  }
  operators.insert(operators.end(), kernels.begin(), kernels.end());
  return operators;
}

std::uint64_t PluginSet::generation() const {
  return impl_->generation.load(std::memory_order_acquire);
}

const LoadedOperator& PluginSet::load(std::string_view name, std::string_view home) {
  for (;;) {
    const auto definition = impl_->find(name, home);
    if (definition == nullptr)
      throw missing_operators(catalog(), std::vector<MissingOperator>{{std::string(name), {}}});
    const auto* op =
        impl_->load(definition, name, [&] { return impl_->find(name, home) == definition; });
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
