// Names of dimensions.
#pragma once
#include <string_view>

namespace tenon {

/// Whether a dimension's name is a placeholder for an unknown size, such as "?", "-1", " ", "None"
/// or "unk__3". Exporters write the same placeholder for different sizes, so equal placeholders,
/// unlike names, do not mean equal sizes.
bool is_placeholder(std::string_view dim_name);

}  // namespace tenon
