// Which texts of a plugin are taken: they end up in terminals, JSON and file names of other people.
#pragma once
#include <string_view>

namespace tenon {

/// A letter or underscore, then letters, digits and underscores; at most 128 of them.
bool is_identifier(std::string_view text);

/// Valid UTF-8 without control characters, but with newlines and tabs: nothing that could drive a terminal.
bool is_plain_text(std::string_view text);

}  // namespace tenon
