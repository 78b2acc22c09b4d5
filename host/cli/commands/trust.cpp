// tenon trust: manages plugins that are refused because they crashed, are writable by others, or
// are not on the trust list.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <tenon/host/trust.hpp>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* rights_hint =
    "remove other users' write permission (chmod go-w), or use --trust-writable if they can be "
    "trusted";

struct Entry {
  std::string state;  // "quarantined", "refused", "released", "trusted", "key" or "removed"
  fs::path path;
  std::string reason;  // the sentence's continuation after the path
  std::string sha256{}, key{};
};

fs::path whole_path(const std::string& text) {
  const auto path = fs::absolute(text).lexically_normal();
  return path.has_filename() ? path : path.parent_path();  // "dir/" means "dir"
}

const char* state_today(QuarantinedPlugin::File file) {
  if (file == QuarantinedPlugin::File::changed)
    return " (the file has changed and will be tried again)";
  return file == QuarantinedPlugin::File::missing ? " (the file no longer exists)" : "";
}

Entry entry_of(const char* state, const TrustedPlugin& plugin) {
  return {state, plugin.path, "SHA-256 " + plugin.sha256, plugin.sha256};
}

Entry entry_of(const char* state, const TrustedSigner& signer) {
  return {state, signer.name, signer.key, "", signer.key};
}

std::vector<Entry> find_all(Context& context) {
  std::vector<Entry> found;
  for (const auto& plugin : quarantined_plugins())
    found.push_back({"quarantined", plugin.path, plugin.reason + state_today(plugin.file)});
  for (const auto& file : context.host().catalog().files())
    if (file.status == PluginStatus::untrusted || file.status == PluginStatus::unlisted)
      found.push_back({"refused", file.path, file.reason});
  for (const auto& plugin : trusted_plugins()) found.push_back(entry_of("trusted", plugin));
  for (const auto& signer : trusted_signers()) found.push_back(entry_of("key", signer));
  return found;
}

void print(Context& context, const std::vector<Entry>& found) {
  std::vector<JsonItem> items;
  for (const auto& [state, path, reason, sha256, key] : found) {
    if (!context.json()) write_result("{:<12} {}: {}\n", state, path, reason);
    const auto known = [](const std::string& text) {
      return text.empty() ? JsonItem() : JsonItem(text);
    };
    if (key.empty())
      items.push_back(json_object("state", state, "path", path.string(), "reason",
                                  sha256.empty() ? reason : JsonItem(), "sha256", known(sha256)));
    else
      items.push_back(json_object("state", state, "name", path.string(), "key", key));
  }
  if (context.json()) print(json_list(items));
}

int list(Context& context, const std::string&, const Arguments&) {
  const auto found = find_all(context);
  print(context, found);
  const auto has = [&](const char* state) {
    return std::any_of(found.begin(), found.end(),
                       [&](const Entry& entry) { return entry.state == state; });
  };
  if (!has("quarantined") && !has("refused"))
    write_message("no plugin is quarantined or refused\n");
  if (has("quarantined"))
    write_message(
        "tenon trust FILE releases a quarantined file; a rebuilt plugin is tried again "
        "automatically\n");
  if (has("refused") && context.trusted_only())
    write_message("tenon trust add FILE adds a file to your trust list\n");
  if (has("refused") && !context.trusted_only()) write_message("{}\n", rights_hint);
  return 0;
}

int release(Context& context, const std::string& file, const Arguments&) {
  std::vector<Entry> released;
  const auto path = whole_path(file);
  for (const auto& plugin : release_plugins(path))
    released.push_back({"released", plugin.path, plugin.reason});
  if (released.empty() && !fs::exists(path))
    throw Failure(FailureKind::file,
                  fmt::format("cannot read {}: there is no such file", path.string()),
                  "tenon trust lists the quarantined files");
  print(context, released);
  if (const auto reason = distrust_reason(path); !reason.empty() && !context.trust_writable())
    throw Failure(FailureKind::plugin, fmt::format("{} {}", path.string(), reason), rights_hint);
  if (released.empty())
    write_message("{} is not quarantined, and only you can write to it\n", path);
  return 0;
}

int add(Context& context, const std::string& file, const Arguments&) {
  print(context, {entry_of("trusted", trust_plugin(file))});
  return 0;
}

template <class Removed>
int print_removed(Context& context, const Removed& removed, const std::string& what) {
  if (removed.empty())
    throw Failure(FailureKind::usage, what + " is not on your trust list",
                  "tenon trust shows the list");
  std::vector<Entry> entries;
  entries.reserve(removed.size());
  for (const auto& entry : removed) entries.push_back(entry_of("removed", entry));
  print(context, entries);
  return 0;
}

int remove(Context& context, const std::string& file, const Arguments&) {
  return print_removed(context, distrust_plugin(file), file);
}

int add_key(Context& context, const std::string& file, const Arguments& arguments) {
  print(context, {entry_of("key", trust_signer(file, arguments.get("name")))});
  return 0;
}

int remove_key(Context& context, const std::string& name, const Arguments&) {
  return print_removed(context, distrust_signer(name), "key '" + name + "'");
}

struct Action {
  const char* needs;  // what the second argument is; null if there is none
  int (*run)(Context&, const std::string&, const Arguments&);
};

const std::map<std::string, Action>& actions() {
  static const std::map<std::string, Action> all{{"list", {nullptr, list}},
                                                 {"add", {"a plugin", add}},
                                                 {"remove", {"a plugin or a SHA-256", remove}},
                                                 {"add-key", {"a public key, NAME.pub", add_key}},
                                                 {"remove-key", {"the name of a key", remove_key}}};
  return all;
}

int run_trust(Context& context, const Arguments& arguments) {
  const auto action = arguments.has("ACTION") ? arguments.get("ACTION") : "list";
  const auto found = actions().find(action);
  const bool acts = found != actions().end();
  const auto* needs = acts ? found->second.needs : nullptr;
  if (needs != nullptr && !arguments.has("FILE"))
    throw Failure(FailureKind::usage, fmt::format("tenon trust {} needs {}", action, needs),
                  "tenon trust --help shows the usage");
  if (needs == nullptr && arguments.has("FILE"))
    throw Failure(FailureKind::usage,
                  fmt::format("tenon trust: unexpected argument '{}'", arguments.get("FILE")),
                  "tenon trust --help shows the usage");
  if (arguments.has("name") && action != "add-key")
    throw Failure(FailureKind::usage, "--name needs tenon trust add-key");
  return acts ? found->second.run(context, arguments.get("FILE"), arguments)
              : release(context, action, arguments);
}

const bool added_trust = add_command(
    {.name = "trust",
     .doc = "manage trusted plugins and keys, list refused plugins, release quarantined ones",
     .details = "A plugin that crashed or hung while being loaded is quarantined: it is not loaded "
                "again until it is rebuilt or released with "
                "tenon trust FILE. A plugin that other users can write to is refused unless "
                "--trust-writable is passed to each command. With "
                "--trusted-only, only plugins in the installed folder, on your trust list, or "
                "signed with a key on it are loaded. `tenon trust "
                "add FILE` adds a plugin to the list by the SHA-256 of its content, `remove` "
                "removes it. `tenon trust add-key KEY.pub` trusts an "
                "OpenSSH key, `remove-key NAME` revokes that; `ssh-keygen -Y sign -n tenon-plugin "
                "-f KEY PLUGIN.so` signs a plugin, whose "
                "signature PLUGIN.so.sig must be in the same folder. The lists are trusted_plugins "
                "and trusted_signers in ~/.config/tenon, in "
                "the formats of sha256sum and of ssh-keygen's allowed signers.",
     .positionals = {{"ACTION",
                      "list, add, remove, add-key, remove-key; or a quarantined plugin or a folder "
                      "of them (default: list)",
                      false},
                     {"FILE", "for add and remove: a plugin; for keys: KEY.pub or NAME", false}},
     .options = {{"name", "NAME", "add-key: the key's name (default: its comment)"}},
     .run = run_trust});

}  // namespace
}  // namespace tenon::cli
