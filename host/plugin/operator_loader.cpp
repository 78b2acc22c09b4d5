#include "plugin/operator_loader.hpp"

#include <algorithm>
#include <tenon/host/launcher.hpp>

#include "isolate/isolated_plugin.hpp"
#include "plugin/discovery/plugin_symbols.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

constexpr std::uint32_t first_sdk_without_guesses = 200;  // 0.2.0

bool can_run(const tenon_operator& table) {
  return table.forward || table.forward_sparse || table.backward || table.backward_sparse;
}

}  // namespace

const LoadedOperator& OperatorLoader::load(const std::shared_ptr<const Definition>& definition) {
  if (const auto* done = definition->loaded.load(std::memory_order_acquire)) return *done;
  Warnings warnings;
  const auto& op = load(definition, warnings);
  if (warn_)  // no lock is held here, so the callback may call back into the host
    for (const auto& [key, sentence] : warnings) warn_(key, sentence);
  return op;
}

const LoadedOperator& OperatorLoader::load(const std::shared_ptr<const Definition>& definition,
                                           Warnings& warnings) {
  const std::lock_guard lock(loading_);
  if (const auto* done = definition->loaded.load(std::memory_order_acquire)) return *done;
  if (!cuda_) cuda_ = cuda_requested_();
  auto loaded = std::make_unique<Loaded>();
  loaded->definition = definition;
  auto& op = loaded->op;
  op.info = definition->info;
  op.file = definition->file;
  op.plugins = &plugins_;
  op.warn = &warn_;
  op.make = definition->in_process.make.get();
  op.owner = owner_in(op.file, op.info->name);
  op.table = op.file < 0 ? definition->in_process.table
                         : table(op, op.file, TENON_GET_SYMBOL_PREFIX + op.info->name,
                                 TableRole::op, warnings);
  for (const auto& type : device_types) {
    if (type.number != TENON_CPU && !*cuda_) continue;
    load_kernel(op, type, definition->kernels[type.number], warnings);
    for (const auto& variant : definition->variants[type.number])
      load_variant(op, type, variant, warnings);
    find_candidates(op, type);
  }
  loaded_.push_back(std::move(loaded));
  definition->loaded.store(&op, std::memory_order_release);
  return op;
}

const CodeOwner* OperatorLoader::owner_in(int file, const std::string& op) const {
  return code_owner(op, file < 0 ? "" : files_.file(file).path.native());
}

const tenon_operator* OperatorLoader::table(LoadedOperator& op, int file, const std::string& symbol,
                                            TableRole role, Warnings& warnings) {
  PluginFile plugin = files_.file(file);
  try {
    const auto* table = loader_.isolates(plugin)
                            ? isolated_table(op, file, plugin, symbol, role, warnings)
                            : table_here(file, plugin, symbol, role, warnings);
    files_.set_outcome(file, plugin);
    return table;
  } catch (const PluginError&) {
    files_.set_outcome(file, plugin);
    throw;
  }
}

const tenon_operator* OperatorLoader::table_here(int file, PluginFile& plugin,
                                                 const std::string& symbol, TableRole role,
                                                 Warnings& warnings) {
  Library& library = loader_.open(file, plugin, files_.operators(file));
  const auto* table = library.table(symbol, role, host_);
  const auto path = plugin.path.string();
  if (!library.changed_modes().empty())
    warnings.emplace_back("floating-point modes of " + path,
                          path + " changes floating-point modes when it is loaded (" +
                              library.changed_modes() +
                              "); they were restored: link it without -ffast-math");
  return table;
}

const IsolatedPlugin* LoadedOperator::isolated_plugin() const {
  const auto found = std::find_if(isolated.begin(), isolated.end(), [&](const auto& its) {
    return &its->functions() == kernel(TENON_CPU);
  });
  return found == isolated.end() ? nullptr : &(*found)->plugin();
}

const tenon_operator* OperatorLoader::isolated_table(LoadedOperator& op, int file,
                                                     PluginFile& plugin, const std::string& symbol,
                                                     TableRole role, Warnings& warnings) {
  if (op.info->communicates && launcher().size > 1)  // it would see itself as the only process
    throw PluginError(
        PluginStatus::not_loadable,
        "communicates with other processes, which a worker process cannot: do not isolate it");
  auto& isolated = loader_.open_isolated(file, plugin, files_.operators(file));
  const auto table = isolated.table(symbol);
  const auto* functions = table == nullptr ? nullptr : &table->functions();
  if (const char* fault = table_fault(functions, role))
    throw PluginError(PluginStatus::broken_manifest,
                      "is broken: the table returned by " + symbol + " " + fault);
  if (const auto limits = isolated.worker()->limits(); limits.find("seccomp") == std::string::npos)
    warnings.emplace_back(
        "limits of workers",
        "isolated plugins can open files and connections: this kernel has no seccomp filters");
  op.isolated.push_back(table);
  return functions;
}

/// If a kernel cannot be loaded, the operator keeps working on its other devices.
void OperatorLoader::load_kernel(LoadedOperator& op, const DeviceType& device,
                                 const KernelChoice& choice, Warnings& warnings) {
  const auto*& kernel = op.kernels[device.number];
  if (choice.source == KernelChoice::Source::operator_table && can_run(*op.table)) {
    kernel = op.table;
    distrust_guesses(op, *kernel, op.file);
  }
  if (choice.source != KernelChoice::Source::file) return;
  const auto& name = op.info->name;
  try {
    if (device.number != TENON_CPU && loader_.isolates(files_.file(choice.file)))
      throw PluginError(PluginStatus::not_loadable,
                        "is isolated, but GPU kernels cannot run in a worker process: do not "
                        "isolate it, or run it on the CPU");
    kernel = table(op, choice.file, kernel_symbol({choice.symbol, device.name}), TableRole::kernel,
                   warnings);
    op.kernel_owners[device.number] = owner_in(choice.file, name);
    distrust_guesses(op, *kernel, choice.file);
  } catch (const PluginError& error) {
    if (!op.kernel_error.empty()) op.kernel_error += "; ";
    op.kernel_error += "the " + std::string(device.name) + " kernel of operator '" + name +
                       "' cannot be used: " + files_.file(choice.file).path.string() + " " +
                       error.what();
  }
}

/// Skips a variant that cannot be loaded, or that would not run in the process of the operator's
/// own kernel.
void OperatorLoader::load_variant(LoadedOperator& op, const DeviceType& device,
                                  const KernelChoice& choice, Warnings& warnings) {
  const auto file = files_.file(choice.file);
  const auto left_out = [&](const std::string& why) {
    warnings.emplace_back("variant " + choice.variant + " of " + op.info->full_name(),
                          "the " + std::string(device.name) + " kernel " + choice.variant +
                              " of operator '" + op.info->full_name() +
                              "' is not used: " + file.path.string() + " " + why);
  };
  const bool isolated =
      loader_.isolates(file) || (op.file >= 0 && loader_.isolates(files_.file(op.file)));
  if (isolated)
    return left_out(
        "or the operator's plugin is isolated, but variants cannot run in worker processes");
  try {
    const auto symbol = kernel_symbol({choice.symbol, device.name, choice.variant});
    const auto* found = table(op, choice.file, symbol, TableRole::kernel, warnings);
    op.variants.push_back({found, owner_in(choice.file, op.info->name), choice.variant});
    if (found->forward != nullptr) op.candidates[device.number].push_back(found);
  } catch (const PluginError& error) {
    left_out(error.what());
  }
}

void OperatorLoader::find_candidates(LoadedOperator& op, const DeviceType& device) const {
  auto& candidates = op.candidates[device.number];
  auto& kernel = op.kernels[device.number];
  if (kernel != nullptr && kernel->forward != nullptr) candidates.push_back(kernel);
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto* left, const auto* right) {
    return priority_of(*left) > priority_of(*right);
  });
  if (kernel == nullptr && !candidates.empty()) kernel = candidates.back();
}

/// A record without a version belongs to a plugin that was not built with an SDK.
void OperatorLoader::distrust_guesses(LoadedOperator& op, const tenon_operator& kernel,
                                      int file) const {
  if (!op.info->elementwise || kernel.backward_sparse == nullptr || file < 0) return;
  const auto plugin = files_.file(file);
  const auto version = plugin.sdk_version;
  if (version == 0 || version >= first_sdk_without_guesses) return;
  op.sparse_gradient_fault =
      plugin.path.string() + " was built with SDK " + std::to_string(version / 10000) + "." +
      std::to_string(version / 100 % 100) + "." + std::to_string(version % 100) +
      ", which guesses where sparse gradients of '" + op.info->name +
      "' are 0: rebuild it with SDK 0.2 or later";
}

}  // namespace tenon
