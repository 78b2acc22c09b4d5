// Which file's kernel an operator gets on a device.
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
  enum class Source { none, own, file };  ///< own: the functions of the operator's own table
  Source source = Source::none;
  int file = -1;
  std::string symbol{};   ///< its operator's name in the symbol of a file's kernel
  std::string variant{};  ///< its class; empty: the one kernel
  bool operator==(const KernelChoice&) const = default;
};

/// An operator that a name stands for, by whom it was brought.
struct Winner {
  std::shared_ptr<const OperatorInfo> info;
  int file = -1;
  Rank rank;
  int since = 0;  ///< the layer from which on the name has stood for it; of one that is brought again unchanged the first
};
using Winners = std::map<std::string, Winner, std::less<>>;  // by full name

/// Threads: reading is safe once settle() is done.
class KernelTable {
 public:
  /// Decides from all files. What was brought later wins; of the same call, the folder that comes first; within a folder the same file
  /// twice is one, and kernels that differ are none. A kernel serves the operator that its name stood for when it was brought, or the
  /// first that came after it: never one that replaced it. Returns one sentence for each two kernels that met. Aliases are no names here:
  /// a kernel names its operator by the operator's own.
  ///
  /// A kernel names its operator by SPACE__NAME, or NAME alone: then it means the one of its own file, or else of those that were there
  /// when it was brought, or came first after it, the one that the name stands for among them; none where nothing decides.
  std::vector<std::string> settle(const PluginSources& sources, const Winners& winners, const std::vector<std::string>& preferred = {});

  KernelChoice find(std::string_view op, std::string_view device) const;
  /// Kernels beside that one, what was brought later first; those of the same call by folder, then by file and class.
  std::vector<KernelChoice> variants(std::string_view op, std::string_view device) const;
  std::vector<std::string> devices(const std::string& op) const;
  bool uses(int file) const;  ///< whether a kernel of the file was chosen, or waits for its operator

 private:
  struct Claim {
    KernelChoice choice;
    Rank rank;
  };
  using Key = std::pair<std::string, std::string>;  // operator, device
  using Claims = std::map<Key, std::vector<Claim>>;

  void collect(const PluginSources& sources, const Winners& winners, const std::vector<std::string>& preferred, Claims& claims,
               std::vector<std::string>& notes);
  static KernelChoice decide(const Key& key, std::vector<Claim> claims, const PluginSources& sources, std::vector<std::string>& notes);

  std::map<Key, KernelChoice> choices_;
  Claims variants_;  // sorted
};

}  // namespace tenon
