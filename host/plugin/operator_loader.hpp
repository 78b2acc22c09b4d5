// Loads an operator's functions into this process according to its definition.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/catalog_index.hpp"
#include "plugin/file_records.hpp"
#include "plugin/loading/plugin_loader.hpp"
#include "plugin/operator_table.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Thread-safe; loads one operator at a time.
class OperatorLoader {
 public:
  OperatorLoader(const PluginOptions& options, const tenon_host& host, FileRecords& files,
                 PluginSet& plugins)
      : plugins_(plugins),
        host_(host),
        cuda_requested_(options.cuda),
        warn_(options.warn),
        files_(files),
        loader_(options) {}

  /// See PluginLoader.
  void admit(const std::filesystem::path& path, const InputFile& file) {
    loader_.admit(path, file);
  }
  bool has_other_libraries(const std::filesystem::path& path) {
    return loader_.has_other_libraries(path);
  }
  /// Loads the operator on the first call; the result lives as long as this object. Throws
  /// PluginError.
  const LoadedOperator& load(const std::shared_ptr<const Definition>& definition);

 private:
  struct Loaded {
    std::shared_ptr<const Definition> definition;
    LoadedOperator op;
  };
  using Warnings = std::vector<std::pair<std::string, std::string>>;

  const LoadedOperator& load(const std::shared_ptr<const Definition>& definition,
                             Warnings& warnings);
  const CodeOwner* owner_in(int file, const std::string& op) const;
  void load_kernel(LoadedOperator& op, const DeviceType& device, const KernelChoice& choice,
                   Warnings& warnings);
  void load_variant(LoadedOperator& op, const DeviceType& device, const KernelChoice& choice,
                    Warnings& warnings);
  void find_candidates(LoadedOperator& op, const DeviceType& device) const;
  const tenon_operator* table(LoadedOperator& op, int file, const std::string& symbol,
                              TableRole role, Warnings& warnings);
  const tenon_operator* table_here(int file, PluginFile& plugin, const std::string& symbol,
                                   TableRole role, Warnings& warnings);
  const tenon_operator* isolated_table(LoadedOperator& op, int file, PluginFile& plugin,
                                       const std::string& symbol, TableRole role,
                                       Warnings& warnings);
  void distrust_guesses(LoadedOperator& op, const tenon_operator& kernel, int file) const;

  PluginSet& plugins_;
  const tenon_host& host_;
  std::function<bool()> cuda_requested_;
  std::function<void(const std::string&, const std::string&)> warn_;
  FileRecords& files_;
  std::mutex loading_;
  std::optional<bool> cuda_;  // determined at the first load
  PluginLoader loader_;
  std::vector<std::unique_ptr<Loaded>> loaded_;
};

}  // namespace tenon
