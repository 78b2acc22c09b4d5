#include "plugin/discovery/kernel_table.hpp"

#include <algorithm>
#include <set>

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

/// A kernel made for an operator that previously had the name does not fit the current one.
bool serves(const PluginSource& file, const ResolvedOperator& winner,
            const PluginSources& sources) {
  return winner.rank.layer == Rank::builtin_layer || file.rank.layer >= winner.since ||
         sources.first_layer.at(winner.info->full_name()) == winner.since;
}

using OperatorRefs = std::vector<const ResolvedOperator*>;

/// Returns the operators that kernels may refer to, by the name in their symbols: `rope` and
/// `acme__rope`.
std::map<std::string, OperatorRefs> by_symbol(const ResolvedOperators& winners) {
  std::map<std::string, OperatorRefs> found;
  for (const auto& [full, op] : winners) found[op.info->name].push_back(&op);
  for (const auto& [full, op] : winners)
    if (auto& targets = found[op.info->space + "__" + op.info->name]; targets.empty())
      targets.push_back(&op);
  return found;
}

/// Among operators with the same name, returns those that existed when the file was added, or else
/// the first added after it.
OperatorRefs existing_when_added(OperatorRefs targets, const PluginSource& file,
                                 const PluginSources& sources) {
  const auto since = [&](const ResolvedOperator* op) {
    return op->rank.layer == Rank::builtin_layer
               ? 0
               : std::max(file.rank.layer, sources.first_layer.at(op->info->full_name()));
  };
  const auto first = since(*std::min_element(targets.begin(), targets.end(),
                                             [&](auto a, auto b) { return since(a) < since(b); }));
  std::erase_if(targets, [&](const ResolvedOperator* op) {
    return since(op) > std::max(first, file.rank.layer);
  });
  return targets;
}

}  // namespace

std::vector<std::string> KernelTable::settle(const PluginSources& sources,
                                             const ResolvedOperators& winners,
                                             const std::vector<std::string>& preferred) {
  choices_.clear();
  variants_.clear();
  std::vector<std::string> notes;
  Claims all;
  collect(sources, winners, preferred, all, notes);
  for (const auto& [key, claims] : all) choices_[key] = decide(key, claims, sources, notes);
  for (auto& [key, variants] : variants_)
    std::stable_sort(variants.begin(), variants.end(), [](const Claim& left, const Claim& right) {
      return left.rank.beats(right.rank);
    });
  return notes;
}

void KernelTable::collect(const PluginSources& sources, const ResolvedOperators& winners,
                          const std::vector<std::string>& preferred, Claims& claims,
                          std::vector<std::string>& notes) {
  for (const auto& [name, op] : winners) {
    const bool no_kernel =
        op.info->kernels_elsewhere || (op.info->has("compose") && !op.info->has("forward"));
    if (!no_kernel)
      claims[{name, "cpu"}].push_back(
          {{KernelChoice::Source::operator_table, op.file, ""}, op.rank});
  }
  const auto operators = by_symbol(winners);
  for (std::size_t i = 0; i < sources.files.size(); ++i) {
    const PluginSource& file = sources.files[i];
    if (!file.sound) continue;
    const int number = static_cast<int>(i);
    for (const KernelInfo& kernel : file.kernels) {
      const KernelChoice choice{KernelChoice::Source::file, number, kernel.op, kernel.variant};
      auto& list = kernel.variant.empty() ? claims : variants_;
      const auto found = operators.find(kernel.op);
      if (found == operators.end()) {  // the operator has not been added yet
        if (!file.provides(kernel.op))
          list[{kernel.op, kernel.device}].push_back({choice, file.rank});
        continue;
      }
      const auto same_file =
          std::find_if(found->second.begin(), found->second.end(),
                       [&](const ResolvedOperator* op) { return op->file == number; });
      const bool in_same_file = same_file != found->second.end();
      if (!in_same_file && file.provides(kernel.op)) continue;
      const auto targets = in_same_file ? OperatorRefs{*same_file}
                                        : existing_when_added(found->second, file, sources);
      const auto chosen = sources.choose(targets, preferred, [](const ResolvedOperator* op) {
        return std::pair(op->info.get(), op->file);
      });
      if (chosen == targets.end()) {
        notes.push_back("the " + kernel.device + " kernel of operator '" + kernel.op + "' in " +
                        file.path.string() + " is not used: it is ambiguous between " +
                        targets[0]->info->full_name() + " and " + targets[1]->info->full_name() +
                        "; specify the namespace with TENON_KERNEL_IN");
        continue;
      }
      if (!in_same_file && !serves(file, **chosen, sources)) continue;
      auto& rivals = list[{(*chosen)->info->full_name(), kernel.device}];
      // The author of both intends the operator's own functions as fallback.
      if (in_same_file)
        std::erase_if(rivals, [](const Claim& rival) {
          return rival.choice.source == KernelChoice::Source::operator_table;
        });
      rivals.push_back({choice, file.rank});
    }
  }
}

KernelChoice KernelTable::decide(const Key& key, std::vector<Claim> claims,
                                 const PluginSources& sources, std::vector<std::string>& notes) {
  std::stable_sort(claims.begin(), claims.end(), [](const Claim& left, const Claim& right) {
    return left.rank.beats(right.rank);
  });
  const std::string what = "the " + key.second + " kernel of operator '" + key.first + "' is in ";
  KernelChoice chosen;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto& [choice, rank] = claims[i];
    if (chosen.source == KernelChoice::Source::none) {
      chosen = choice;
      // candidates in the same folder
      for (; i + 1 < claims.size() && claims[i + 1].rank == rank; ++i) {
        const int other = claims[i + 1].choice.file;
        const std::string both =
            what + sources.path_of(choice.file) + " and in " + sources.path_of(other);
        const auto at = [&](int file) -> const PluginSource& {
          return sources.files[static_cast<std::size_t>(file)];
        };
        if (choice.file >= 0 && same_bytes(at(choice.file), at(other))) {
          notes.push_back(both + ", which are identical: the first is used");
        } else {
          notes.push_back(both + ": neither is used; remove one of the files");
          chosen = {};
        }
      }
    } else {
      notes.push_back(what + sources.path_of(chosen.file) + " and in " +
                      sources.path_of(choice.file) + ": the first is used");
    }
  }
  return chosen;
}

KernelChoice KernelTable::find(std::string_view op, std::string_view device) const {
  const auto found = choices_.find({std::string(op), std::string(device)});
  return found == choices_.end() ? KernelChoice{} : found->second;
}

std::vector<KernelChoice> KernelTable::variants(std::string_view op,
                                                std::string_view device) const {
  std::vector<KernelChoice> found;
  if (const auto claims = variants_.find({std::string(op), std::string(device)});
      claims != variants_.end())
    for (const auto& claim : claims->second) found.push_back(claim.choice);
  return found;
}

std::vector<std::string> KernelTable::devices(const std::string& op) const {
  std::set<std::string> found;
  for (auto choice = choices_.lower_bound({op, ""});
       choice != choices_.end() && choice->first.first == op; ++choice)
    if (choice->second.source != KernelChoice::Source::none) found.insert(choice->first.second);
  for (auto claims = variants_.lower_bound({op, ""});
       claims != variants_.end() && claims->first.first == op; ++claims)
    found.insert(claims->first.second);
  return {found.begin(), found.end()};
}

bool KernelTable::uses(int file) const {
  const auto is_its = [&](const KernelChoice& choice) {
    return choice.source == KernelChoice::Source::file && choice.file == file;
  };
  return std::any_of(choices_.begin(), choices_.end(),
                     [&](const auto& choice) { return is_its(choice.second); }) ||
         std::any_of(variants_.begin(), variants_.end(), [&](const auto& claims) {
           return std::any_of(claims.second.begin(), claims.second.end(),
                              [&](const Claim& claim) { return is_its(claim.choice); });
         });
}

}  // namespace tenon
