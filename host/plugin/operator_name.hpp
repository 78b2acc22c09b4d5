// Full operator names: `acme.rope` is operator rope in namespace acme.
#pragma once
#include <string>
#include <string_view>

namespace tenon {

/// namespace of the operators that come with Tenon
inline constexpr std::string_view bundled_space = "tenon";
/// namespace of the application's own operators
inline constexpr std::string_view application_space = "app";

/// Returns whether the text is `rope` or `acme.rope`, where each part is an identifier.
bool is_operator_name(std::string_view text);
/// Returns the part before the dot; empty for a short name.
std::string_view space_in(std::string_view name);
/// Returns the part after the dot, or all of a short name.
std::string_view short_name(std::string_view name);
/// Returns the name for messages: printable, in quotes, and not longer than a line.
std::string quoted_name(std::string_view name);

/// Returns the namespace for operators of a plugin that declares none: the plugin's name, with
/// underscores for characters that identifiers cannot have.
std::string space_of_plugin(std::string_view plugin);

}  // namespace tenon
