#include "plugin/discovery/kernel_table.hpp"

#include <algorithm>

#include "plugin/discovery/input_file.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

bool same_bytes(const PluginSource& left, const PluginSource& right) {
  try {
    const InputFile first(left.path), second(right.path);
    return first.size() == second.size() && content_hash(first) == content_hash(second);
  } catch (const PluginError&) {
    return false;
  }
}

/// A kernel of another operator that had the name before does not fit the one that has it now.
bool serves(const PluginSource& file, const Winner& winner, const PluginSources& sources) {
  return winner.rank.layer == Rank::own_layer || file.rank.layer >= winner.since ||
         sources.first_layer.at(winner.info->name) == winner.since;
}

}  // namespace

std::vector<std::string> KernelTable::settle(const PluginSources& sources, const Winners& winners) {
  choices_.clear();
  std::vector<std::string> notes;
  for (const auto& [key, claims] : collect(sources, winners)) choices_[key] = decide(key, claims, sources, notes);
  return notes;
}

KernelTable::Claims KernelTable::collect(const PluginSources& sources, const Winners& winners) {
  Claims claims;
  for (const auto& [name, op] : winners) {
    if (!op.info->kernels_elsewhere) claims[{name, "cpu"}].push_back({{KernelChoice::Source::own, op.file}, op.rank});
  }
  for (std::size_t i = 0; i < sources.files.size(); ++i) {
    const PluginSource& file = sources.files[i];
    if (!file.sound) continue;
    const int number = static_cast<int>(i);
    for (const KernelInfo& kernel : file.kernels) {
      const auto op = winners.find(kernel.op);
      const bool is_beside = op != winners.end() && op->second.file == number;
      if (!is_beside && file.brings(kernel.op)) continue;
      if (op != winners.end() && !is_beside && !serves(file, op->second, sources)) continue;
      auto& rivals = claims[{kernel.op, kernel.device}];
      // The author of both means the operator's own functions as what there is without the kernel.
      if (is_beside) std::erase_if(rivals, [](const Claim& rival) { return rival.choice.source == KernelChoice::Source::own; });
      rivals.push_back({{KernelChoice::Source::file, number}, file.rank});
    }
  }
  return claims;
}

KernelChoice KernelTable::decide(const Key& key, std::vector<Claim> claims, const PluginSources& sources, std::vector<std::string>& notes) {
  std::stable_sort(claims.begin(), claims.end(), [](const Claim& left, const Claim& right) { return left.rank.beats(right.rank); });
  const std::string what = "the " + key.second + " kernel of operator '" + key.first + "' is in ";
  KernelChoice chosen;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto& [choice, rank] = claims[i];
    if (chosen.source == KernelChoice::Source::none) {
      chosen = choice;
      // those of the same folder
      for (; i + 1 < claims.size() && claims[i + 1].rank == rank; ++i) {
        const int other = claims[i + 1].choice.file;
        const std::string both = what + sources.path_of(choice.file) + " and in " + sources.path_of(other);
        const auto at = [&](int file) -> const PluginSource& { return sources.files[static_cast<std::size_t>(file)]; };
        if (choice.file >= 0 && same_bytes(at(choice.file), at(other))) {
          notes.push_back(both + ", the same file twice: the first is used");
        } else {
          notes.push_back(both + ": neither is used; remove one of the files");
          chosen = {};
        }
      }
    } else {
      notes.push_back(what + sources.path_of(chosen.file) + " and in " + sources.path_of(choice.file) + ": the first is used");
    }
  }
  return chosen;
}

KernelChoice KernelTable::find(std::string_view op, std::string_view device) const {
  const auto found = choices_.find({std::string(op), std::string(device)});
  return found == choices_.end() ? KernelChoice{} : found->second;
}

std::vector<std::string> KernelTable::devices(const std::string& op) const {
  std::vector<std::string> found;
  for (auto choice = choices_.lower_bound({op, ""}); choice != choices_.end() && choice->first.first == op; ++choice)
    if (choice->second.source != KernelChoice::Source::none) found.push_back(choice->first.second);
  return found;
}

bool KernelTable::uses(int file) const {
  return std::any_of(choices_.begin(), choices_.end(),
                     [&](const auto& choice) { return choice.second.source == KernelChoice::Source::file && choice.second.file == file; });
}

}  // namespace tenon
