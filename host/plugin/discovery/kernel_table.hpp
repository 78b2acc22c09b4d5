// Selection of the file that provides an operator's kernel for a device.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host/catalog.hpp>
#include <utility>
#include <vector>

#include "plugin/discovery/sources.hpp"

namespace tenon {

struct KernelChoice {
  /// operator_table: the functions of the operator's own table
  enum class Source { none, operator_table, file };
  Source source = Source::none;
  int file = -1;
  std::string symbol{};   ///< the operator's name in the kernel's symbol
  std::string variant{};  ///< the variant's class; empty for the plain kernel
  bool operator==(const KernelChoice&) const = default;
};

/// The operator that a name refers to, and who added it.
struct ResolvedOperator {
  std::shared_ptr<const OperatorInfo> info;
  int file = -1;
  Rank rank;
  /// first layer in which the name has referred to it, also if it was added again unchanged
  int since = 0;
};
using ResolvedOperators = std::map<std::string, ResolvedOperator, std::less<>>;  // by full name

/// Reading is thread-safe once settle() has returned.
class KernelTable {
 public:
  /// Selects kernels from all files. Later calls win; within a call, the first folder wins; within
  /// a folder, identical files count once, and different kernels exclude each other. A kernel
  /// serves the operator that its name referred to when it was added, or the first one added after
  /// it, and never one that replaced it. Returns one note per conflict. Aliases do not count: a
  /// kernel uses its operator's own name.
  ///
  /// A kernel names its operator as SPACE__NAME or just NAME. NAME refers to the operator of its
  /// own file, or else, among the operators that existed when it was added or were the first added
  /// after it, to the one that the name refers to; to none if that is ambiguous.
  std::vector<std::string> settle(const PluginSources& sources, const ResolvedOperators& winners,
                                  const std::vector<std::string>& preferred = {});

  KernelChoice find(std::string_view op, std::string_view device) const;
  /// Returns the variants, latest call first; those of the same call by folder, then by file and
  /// class.
  std::vector<KernelChoice> variants(std::string_view op, std::string_view device) const;
  std::vector<std::string> devices(const std::string& op) const;
  /// whether a kernel of the file was selected, or waits for its operator
  bool uses(int file) const;

 private:
  struct Claim {
    KernelChoice choice;
    Rank rank;
  };
  using Key = std::pair<std::string, std::string>;  // operator, device
  using Claims = std::map<Key, std::vector<Claim>>;

  void collect(const PluginSources& sources, const ResolvedOperators& winners,
               const std::vector<std::string>& preferred, Claims& claims,
               std::vector<std::string>& notes);
  static KernelChoice decide(const Key& key, std::vector<Claim> claims,
                             const PluginSources& sources, std::vector<std::string>& notes);

  std::map<Key, KernelChoice> choices_;
  Claims variants_;  // sorted
};

}  // namespace tenon
