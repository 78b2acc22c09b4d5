// pack.json, the first member of a pack, which lists the others, and the untrusted file of a pack.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/host/pack.hpp>
#include <vector>

namespace tenon {

inline constexpr const char* pack_list_name = "pack.json";
inline constexpr const char* pack_graph_name = "graph.tenon";
inline constexpr std::string_view pack_plugins = "plugins/";

struct PackList {
  std::vector<std::string> plugins;  ///< member names
  std::vector<PackMember> members;   ///< all but pack.json
};

/// Equal lists give equal texts.
std::string to_text(const PackList& list);
/// Throws Failure (file) if the text is not a list, or lists a member that is not allowed in a
/// pack. `label` names the text in messages.
PackList read_pack_list(std::string_view text, const std::string& label);

/// Returns whether the name is `graph.tenon` or a plain file name in plugins/.
bool is_member_name(std::string_view name);

/// SHA-256 of the file's bytes. `on_chunk` receives each hashed chunk, in order: a caller that
/// copies in it has the hash of its copy, whatever happens to the file meanwhile. Throws Failure
/// (file).
std::string sum_of_pack(const std::filesystem::path& path,
                        const std::function<void(std::span<const std::byte>)>& on_chunk = {});

}  // namespace tenon
