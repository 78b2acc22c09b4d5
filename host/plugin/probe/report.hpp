// The probe program's report to the host: one line on its own pipe, so that nothing a plugin prints
// can be mistaken for it.
#pragma once

namespace tenon::probe {

// The line is a word, followed by a space and a text for all but the first.
inline constexpr const char* passed = "passed";          // loaded, and all tables are valid
inline constexpr const char* not_opened = "not_opened";  // the loader's message
inline constexpr const char* no_symbol = "no_symbol";    // the symbol's name
// the symbol's name, a space, the fault of its table
inline constexpr const char* bad_table = "bad_table";

}  // namespace tenon::probe
