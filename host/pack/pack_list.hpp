// pack.json, the first member of a pack: what else is in it.
#pragma once
#include <string>
#include <string_view>
#include <tenon/host/pack.hpp>
#include <vector>

namespace tenon {

inline constexpr const char* pack_list_name = "pack.json";
inline constexpr const char* pack_graph_name = "graph.tenon";
inline constexpr std::string_view pack_plugins = "plugins/";

struct PackList {
  std::vector<std::string> plugins;  ///< names of members
  std::vector<PackMember> members;   ///< all but pack.json
};

/// The same list gives the same text.
std::string to_text(const PackList& list);
/// Throws Failure (file) where the text is no list, or names something that may not be in a pack. `label` stands for it in messages.
PackList read_pack_list(std::string_view text, const std::string& label);

/// `graph.tenon`, or a plain file name in plugins/.
bool is_member_name(std::string_view name);

}  // namespace tenon
