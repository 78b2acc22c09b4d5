// Single values as written in a graph.json; they round-trip exactly.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// Appends a quoted string, with escapes for what JSON does not allow and for terminal control
/// characters.
void append_json_text(std::string& to, std::string_view text);

void append_json_number(std::string& to, std::int64_t value);

/// Appends the shortest form that reads back as the same number, always with a point or an
/// exponent: 1.0, -0.0, 1e+300. Numbers that JSON lacks become strings: "inf", "-inf", "nan", and
/// "nan(0x7ff8000000000001)" for other NaN bits.
void append_json_number(std::string& to, double value);
/// Same for a float32, which needs fewer digits.
void append_json_number(std::string& to, float value);

/// Returns the number that such a string stands for.
std::optional<double> special_number(std::string_view text);

}  // namespace tenon
