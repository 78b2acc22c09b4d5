// What the probe program tells the host: one line on a pipe of its own, so that nothing a plugin prints can be taken for it.
#pragma once

namespace tenon::probe {

// The line is a word, then for all but the first a blank and a text.
inline constexpr const char* passed = "passed";          // loaded, and every table is sound
inline constexpr const char* not_opened = "not_opened";  // what the loader says
inline constexpr const char* no_symbol = "no_symbol";    // the symbol's name
inline constexpr const char* bad_table = "bad_table";    // the symbol's name, a blank, what is wrong with its table

}  // namespace tenon::probe
