// Operators and their plugins.
#include <set>

#include "file/tenon/read_context.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

void read_plugins(ReadContext& reading) {
  const auto texts = reading.model.strings.size();
  ReadLimit budget(reading);
  for (std::uint32_t i = 0; i < count_of(reading.file.plugins()); ++i) {
    const auto* from = reading.file.plugins()->Get(i);
    PluginUse plugin;
    plugin.name = reading.text(reading.index(from->name(), texts, "the name of plugin {}", i));
    plugin.version =
        reading.text(reading.index(from->version(), texts, "the version of plugin {}", i));
    budget.take(plugin.name.size() + plugin.version.size(), "plugins");
    plugin.abi_minor = from->abi_minor();
    plugin.content_hash = from->content_hash();
    if (!plugin.name.empty() && !is_name(plugin.name))
      reading.refuse("plugin {} has control characters in its name", i);
    reading.model.plugins.push_back(std::move(plugin));
  }
}

std::shared_ptr<const OperatorInfo> decode(const ReadContext& reading, const format::Operator& from,
                                           const std::string& name, const std::string& space) {
  const auto bytes = std::as_bytes(std::span(from.manifest()->data(), from.manifest()->size()));
  try {
    auto info = std::make_shared<OperatorInfo>(read_manifest(bytes));
    info->manifest.assign(bytes.begin(), bytes.end());
    info->space = space;
    return info;
  } catch (const Failure& failure) {
    reading.refuse("operator '{}': its manifest is broken: {}", name, failure.what());
  }
}

}  // namespace

void read_operators(ReadContext& reading) {
  read_plugins(reading);
  const auto texts = reading.model.strings.size();
  std::set<std::pair<StringId, StringId>> seen;
  for (std::uint32_t i = 0; i < count_of(reading.file.operators()); ++i) {
    const auto* from = reading.file.operators()->Get(i);
    reading.index(from->name(), texts, "the name of operator {}", i);
    reading.index(from->space(), texts, "the space of operator {}", i);
    OperatorUse use;
    use.name = reading.text(from->name());
    use.version = from->version();
    const std::string space(reading.text(from->space()));
    if (!space.empty() && !is_identifier(space))
      reading.refuse("operator {}: '{}' is not a valid namespace", i, printable(space));
    if (!seen.emplace(from->space(), from->name()).second)
      reading.refuse("operator {}: the name '{}' occurs twice", i,
                     printable(space.empty() ? use.name : space + '.' + use.name));
    if (!is_name(use.name))
      reading.refuse("operator {}: '{}' is not a valid name", i, printable(use.name));
    if (from->manifest() == nullptr) reading.refuse("operator '{}' has no manifest", use.name);
    use.info = decode(reading, *from, use.name, space);
    if (use.info->name != use.name || use.info->version != use.version)
      reading.refuse("operator '{}' version {} has the manifest of '{}' version {}", use.name,
                     use.version, use.info->name, use.info->version);
    if (from->plugin() != none)
      use.plugin = reading.index(from->plugin(), reading.model.plugins.size(),
                                 "the plugin of operator '{}'", use.name);
    reading.model.operators.push_back(std::move(use));
  }
}

}  // namespace tenon
