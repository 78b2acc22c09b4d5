#include "pack/pack_list.hpp"

#include <algorithm>
#include <set>

#include "io/json_document.hpp"
#include "io/json_text.hpp"
#include "io/sha256.hpp"
#include "io/utf8.hpp"

namespace tenon {

static constexpr std::int64_t format = 1;

bool is_member_name(std::string_view name) {
  if (name == pack_graph_name) return true;
  if (!name.starts_with(pack_plugins)) return false;
  name.remove_prefix(pack_plugins.size());
  return name.size() <= 255 && is_name(name) && name.front() != '.' &&
         name.find_first_of("/\\") == std::string_view::npos;
}

std::string to_text(const PackList& list) {
  std::string text = "{\"tenon_pack\": ";
  append_json_number(text, format);
  text += ", \"made_by\": ";
  append_json_text(text, "Tenon " TENON_VERSION);
  text += ",\n \"plugins\": [";
  for (const auto& plugin : list.plugins) {
    if (&plugin != &list.plugins.front()) text += ", ";
    append_json_text(text, plugin);
  }
  text += "],\n \"members\": [";
  for (const auto& member : list.members) {
    text += &member == &list.members.front() ? "\n" : ",\n";
    text += "  {\"name\": ";
    append_json_text(text, member.name);
    text += ", \"size\": ";
    append_json_number(text, static_cast<std::int64_t>(member.size));
    text += ", \"sha256\": ";
    append_json_text(text, member.sha256);
    text += '}';
  }
  return text + "]}\n";
}

PackList read_pack_list(std::string_view text, const std::string& label) {
  const auto document = parse_json(text, label);
  const JsonField root(document);
  root.object("the list", {"tenon_pack", "made_by", "plugins", "members"});
  root["tenon_pack"].integer("'tenon_pack'", format, format);
  root["made_by"].text("'made_by'");
  PackList list;
  std::set<std::string_view> names;
  for (const auto& entry : root["members"].list("'members'")) {
    entry.object("a member", {"name", "size", "sha256"});
    const auto name = entry["name"], sum = entry["sha256"];
    PackMember member{name.text("'name'"),
                      static_cast<std::uint64_t>(entry["size"].integer("'size'", 0, INT64_MAX)),
                      sum.text("'sha256'")};
    if (!is_member_name(member.name))
      name.refuse("'{}' is not allowed in a pack, which holds graph.tenon and files in plugins/",
                  printable(member.name));
    if (!is_sha256(member.sha256))
      sum.refuse("'{}' is not a SHA-256 hash", printable(member.sha256));
    if (!names.insert(name.text()).second) name.refuse("'{}' occurs twice", member.name);
    list.members.push_back(std::move(member));
  }
  if (!names.contains(pack_graph_name)) root.refuse("{} is not among the members", pack_graph_name);
  for (const auto& entry : root["plugins"].list("'plugins'")) {
    list.plugins.push_back(entry.text("a plugin"));
    if (list.plugins.back() == pack_graph_name || !names.contains(list.plugins.back()))
      entry.refuse("'{}' is not among the members", printable(list.plugins.back()));
  }
  return list;
}

}  // namespace tenon
