// Which bytes are text.
#pragma once
#include <cstdint>
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

/// A text of somebody else's as part of one line: each byte of what is not UTF-8, of control characters, newlines among them, and of what
/// turns text around becomes \xNN. It cannot drive a terminal, and it cannot begin a line that looks like the program's own.
std::string printable(std::string_view text);
/// The same for texts of several lines: newlines and tabs stay.
std::string printable_lines(std::string_view text);

/// The character at the beginning of the text if it is one beyond ASCII that printable() replaces; 0 if not. Up to U+07FF it has two bytes
/// of UTF-8, above them three.
std::uint32_t leading_control(std::string_view text);

/// The text with U+FFFD for each byte that makes it no UTF-8.
std::string well_formed(std::string_view text);

}  // namespace tenon
