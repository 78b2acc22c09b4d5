// Which bytes are text.
#pragma once
#include <string>
#include <string_view>

namespace tenon {

/// Well-formed UTF-8 as Unicode defines it: shortest forms only, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

/// UTF-8 without control characters, not empty: what names of nodes and values must be, for they are printed in messages.
bool is_name(std::string_view text);

/// A letter or underscore, then letters, digits and underscores; at most 128 of them.
bool is_identifier(std::string_view text);

/// Valid UTF-8 without control characters, but with newlines and tabs: nothing that could drive a terminal, or turn its text around. What
/// plugins say ends up in terminals, JSON and file names of other people.
bool is_plain_text(std::string_view text);

/// The text with whatever would disturb a message replaced by \xNN.
std::string printable(std::string_view text);

/// The text with U+FFFD for each byte that makes it no UTF-8.
std::string well_formed(std::string_view text);

}  // namespace tenon
