// Changes between versions of an operator, and their effect on files and texts made for an older
// version. Everything here follows from manifests.
#pragma once
#include <optional>
#include <string>
#include <tenon/host/operator_info.hpp>

namespace tenon {

/// The current name of a parameter, found by its name in version `since`; if it was removed
/// since, no name and the entry that removed it.
struct CurrentName {
  std::optional<std::string> name;
  const OperatorInfo::Removed* removed = nullptr;
};
CurrentName current_name(std::string name, int since, const OperatorInfo& info);

/// Returns the version in which a parameter of `added` was added; 1 for other parameters.
int added_in(const OperatorInfo& info, std::string_view param);

/// Converts the parameters of a node of version `stored` to the operator's current ones: renamed,
/// without removed ones, with the former defaults of added ones. Throws Failure (plugin) for a
/// removed value that would now compute something else.
Attributes upgraded(const Attributes& stored_attributes, int stored, const OperatorInfo& info);

/// Same for a text or call, which has no version: only names that the operator does not have today
/// are taken for older ones.
Attributes with_current_names(const Attributes& attributes, const OperatorInfo& info);

/// Why nodes made with one version cannot run on another.
struct Change {
  std::string what;  ///< follows "version 2 ...", for example `has the new input 'gain'`
  /// the declaration by which the author could make them compatible; may be empty
  std::string declaration;
};
std::optional<Change> change_since(const OperatorInfo& stored, const OperatorInfo& here);

}  // namespace tenon
