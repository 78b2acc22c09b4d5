// tenon trust: plugins that are not loaded because they crashed once, or because others may write to them.
#include <fmt/format.h>

#include <filesystem>
#include <tenon/host/trust.hpp>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

struct Distrusted {
  std::string state;  // "quarantined", "refused" or "released"
  fs::path path;
  std::string reason;  // reads on after the path
};

fs::path whole_path(const std::string& text) {
  const auto path = fs::absolute(text).lexically_normal();
  return path.has_filename() ? path : path.parent_path();  // dir/ is dir
}

const char* state_today(QuarantinedPlugin::File file) {
  if (file == QuarantinedPlugin::File::changed) return " (it is another file now, and will be tried)";
  return file == QuarantinedPlugin::File::missing ? " (the file is not there now)" : "";
}

std::vector<Distrusted> find_all(Context& context) {
  std::vector<Distrusted> found;
  for (const auto& plugin : quarantined_plugins()) found.push_back({"quarantined", plugin.path, plugin.reason + state_today(plugin.file)});
  for (const auto& file : context.host().catalog().files())
    if (file.status == PluginStatus::untrusted) found.push_back({"refused", file.path, file.reason});
  return found;
}

void print(Context& context, const std::vector<Distrusted>& found) {
  std::vector<JsonItem> items;
  for (const auto& [state, path, reason] : found) {
    if (!context.json()) write_result("{:<12} {}: {}\n", state, path.string(), reason);
    items.push_back(json_object("state", state, "path", path.string(), "reason", reason));
  }
  if (context.json()) print(json_list(items));
}

int list(Context& context) {
  const auto found = find_all(context);
  print(context, found);
  bool quarantined = false, refused = false;
  for (const auto& entry : found) (entry.state == "refused" ? refused : quarantined) = true;
  if (found.empty()) tell("no plugin is in quarantine or refused\n");
  if (quarantined) tell("tenon trust FILE lets a file in quarantine be tried again; one that is built anew is tried anyway\n");
  if (refused) tell("take the right to write away from others (chmod go-w), or say --trust-writable where they may be trusted\n");
  return 0;
}

int run_trust(Context& context, const Arguments& arguments) {
  if (!arguments.has("FILE")) return list(context);
  std::vector<Distrusted> released;
  const auto path = whole_path(arguments.get("FILE"));
  for (const auto& plugin : release_plugins(path)) released.push_back({"released", plugin.path, plugin.reason});
  if (released.empty() && !fs::exists(path))
    throw Failure(FailureKind::file, fmt::format("cannot read {}: there is no such file", path.string()),
                  "tenon trust lists the files in quarantine");
  print(context, released);
  if (const auto reason = distrust_reason(path); !reason.empty() && !context.trust_writable())
    throw Failure(FailureKind::plugin, fmt::format("{} {}", path.string(), reason),
                  "take the right to write away from others (chmod go-w), or say --trust-writable where they may be trusted");
  if (released.empty()) tell("{} is not quarantined, and only you may write to it\n", path.string());
  return 0;
}

const bool added_trust = add_command(
    {.name = "trust",
     .doc = "list the plugins that are not trusted, or let one be tried again",
     .details = "A plugin that crashed or hung while it was loaded is in quarantine: it is not loaded again until it is built anew or "
                "named here. A plugin that other users may write to is refused unless --trust-writable is given with each command.",
     .positionals = {{"FILE", "a quarantined plugin, or a folder of them (default: list all)", false}},
     .options = {},
     .run = run_trust});

}  // namespace
}  // namespace tenon::cli
