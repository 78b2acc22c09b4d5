// What changed between versions of an operator, and what that means for files and texts that were made for an older one. Everything here
// follows from manifests.
#pragma once
#include <optional>
#include <string>
#include <tenon/host/operator_info.hpp>

namespace tenon {

/// What a parameter that has this name in version `since` is called today; nothing if it was removed since, and then by which entry.
struct TodaysName {
  std::optional<std::string> name;
  const OperatorInfo::Removed* removed = nullptr;
};
TodaysName todays_name(std::string name, int since, const OperatorInfo& info);

/// The version in which a parameter of `added` came; 1 for others.
int added_in(const OperatorInfo& info, std::string_view param);

/// The parameters of a node of version `stored` as the operator has them today: renamed, without those that were removed, with the former
/// values of those that were added. Throws Failure (plugin) for a value that was removed and means something else now.
Attributes upgraded(const Attributes& stored_attributes, int stored, const OperatorInfo& info);

/// The same for a text or a call, which names no version: only names that the operator does not have today are those of an older one.
Attributes with_todays_names(const Attributes& given, const OperatorInfo& info);

/// Why nodes that were made with `stored` cannot run on `here`.
struct Change {
  std::string what;  ///< follows "version 2 ...": `has the new input 'gain'`
  std::string word;  ///< by which the author could have said it; may be empty
};
std::optional<Change> change_since(const OperatorInfo& stored, const OperatorInfo& here);

}  // namespace tenon
