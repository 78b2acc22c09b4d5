#include "plugin/discovery/kernel_table.hpp"

#include <algorithm>

#include "plugin/discovery/input_file.hpp"
#include "plugin/refusal.hpp"

namespace tenon {
namespace {

const CatalogOperator* find_operator(const std::vector<CatalogOperator>& operators, const std::string& name) {
  const auto found = std::lower_bound(operators.begin(), operators.end(), name,
                                      [](const CatalogOperator& op, const std::string& wanted) { return op.info.name < wanted; });
  return found != operators.end() && found->info.name == name ? &*found : nullptr;
}

bool brings(const PluginFile& file, const std::string& op) {
  return std::binary_search(file.operators.begin(), file.operators.end(), op);
}

bool takes_part(const PluginFile& file) {
  return file.usable() || file.status == PluginStatus::duplicate;
}

bool same_bytes(const PluginFile& left, const PluginFile& right) {
  try {
    const InputFile first(left.path), second(right.path);
    return first.size() == second.size() && content_hash(first) == content_hash(second);
  } catch (const Refusal&) {
    return false;
  }
}

std::string path_of(const std::vector<PluginFile>& files, int file) {
  return file < 0 ? "the application" : files[static_cast<std::size_t>(file)].path.string();
}

}  // namespace

std::vector<std::string> KernelTable::settle(const std::vector<PluginFile>& files, std::vector<CatalogOperator>& operators) {
  choices_.clear();
  std::vector<std::string> notes;
  for (const auto& [key, claims] : collect(files, operators)) choices_[key] = decide(key, claims, files, notes);
  for (CatalogOperator& op : operators) {
    op.devices.clear();
    for (auto choice = choices_.lower_bound({op.info.name, ""}); choice != choices_.end() && choice->first.first == op.info.name;
         ++choice) {
      if (choice->second.source != KernelChoice::Source::none) op.devices.push_back(choice->first.second);
    }
  }
  return notes;
}

KernelTable::Claims KernelTable::collect(const std::vector<PluginFile>& files, const std::vector<CatalogOperator>& operators) {
  Claims claims;
  for (const CatalogOperator& op : operators) {
    if (!op.info.kernels_elsewhere) claims[{op.info.name, "cpu"}].push_back({KernelChoice::Source::own, op.file});
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!takes_part(files[i])) continue;
    const int file = static_cast<int>(i);
    for (const KernelInfo& kernel : files[i].kernels) {
      const CatalogOperator* op = find_operator(operators, kernel.op);
      const bool is_beside = op && op->file == file;
      if (!is_beside && brings(files[i], kernel.op)) continue;
      auto& rivals = claims[{kernel.op, kernel.device}];
      // The author of both means the operator's own functions as what there is without the kernel.
      if (is_beside) std::erase_if(rivals, [](const KernelChoice& rival) { return rival.source == KernelChoice::Source::own; });
      rivals.push_back({KernelChoice::Source::file, file});
    }
  }
  return claims;
}

KernelChoice KernelTable::decide(const Key& key, const std::vector<KernelChoice>& claims, const std::vector<PluginFile>& files,
                                 std::vector<std::string>& notes) {
  KernelChoice chosen = claims[0];
  const KernelChoice first = claims[0];
  for (std::size_t i = 1; i < claims.size(); ++i) {
    const std::string both = "the " + key.second + " kernel of operator '" + key.first + "' is in " + path_of(files, first.file) +
                             " and in " + path_of(files, claims[i].file);
    if (first.file < 0) {
      notes.push_back(both + ": the application's is used");
    } else if (same_bytes(files[static_cast<std::size_t>(first.file)], files[static_cast<std::size_t>(claims[i].file)])) {
      notes.push_back(both + ", the same file twice: the first is used");
    } else {
      notes.push_back(both + ": neither is used; remove one of the files");
      chosen = {};
    }
  }
  return chosen;
}

KernelChoice KernelTable::find(std::string_view op, std::string_view device) const {
  const auto found = choices_.find({std::string(op), std::string(device)});
  return found == choices_.end() ? KernelChoice{} : found->second;
}

bool KernelTable::uses(int file) const {
  return std::any_of(choices_.begin(), choices_.end(),
                     [&](const auto& choice) { return choice.second.source == KernelChoice::Source::file && choice.second.file == file; });
}

}  // namespace tenon
