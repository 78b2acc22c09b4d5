// Full names of operators: `acme.rope` is the operator rope of the space acme.
#pragma once
#include <string>
#include <string_view>

namespace tenon {

inline constexpr std::string_view bundled_space = "tenon";    ///< of the operators that come with Tenon
inline constexpr std::string_view application_space = "app";  ///< of an application's own

/// `rope` or `acme.rope`, each part an identifier.
bool is_operator_name(std::string_view text);
/// What stands before the dot; empty in a short name.
std::string_view space_in(std::string_view name);
/// What stands behind it, or the whole of a short name.
std::string_view short_name(std::string_view name);
/// For sentences: printable, in quotes, and not longer than a line.
std::string quoted_name(std::string_view name);

/// The space of a plugin's operators whose author says none: the plugin's name, with underscores for what an identifier cannot have.
std::string space_of_plugin(std::string_view plugin);

}  // namespace tenon
