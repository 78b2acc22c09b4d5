// Validation and escaping of text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

/// Returns whether the text is well-formed UTF-8 as defined by Unicode: shortest forms only, no
/// surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

/// Returns whether the text is non-empty UTF-8 without control characters, as names of nodes and
/// values must be because messages print them.
bool is_name(std::string_view text);

/// Returns whether the text is a letter or underscore followed by letters, digits and underscores,
/// at most 128 in total.
bool is_identifier(std::string_view text);

/// Returns whether the text is UTF-8 without control characters except newlines and tabs, and so
/// cannot control a terminal or reverse its text direction. Texts from plugins end up in terminals,
/// JSON and other people's file names.
bool is_plain_text(std::string_view text);

/// Escapes an untrusted text for use within a line: invalid UTF-8, control characters including
/// newlines, and bidirectional controls become \xNN. The result can neither control a terminal nor
/// begin a line that looks like the program's own.
std::string printable(std::string_view text);
/// Same for texts with several lines: newlines and tabs stay.
std::string printable_lines(std::string_view text);

/// Returns the character at the beginning of the text if it is a non-ASCII one that printable()
/// replaces, else 0. Up to U+07FF it has two bytes of UTF-8, above that three.
std::uint32_t leading_control(std::string_view text);

/// Replaces each byte of invalid UTF-8 by U+FFFD.
std::string well_formed(std::string_view text);

}  // namespace tenon
