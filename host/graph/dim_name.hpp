// Names of dimensions.
#pragma once
#include <string_view>

namespace tenon {

/// Whether a dimension's name stands for a size that is not known, such as "?", "-1", " ", "None" or "unk__3". Programs write it for
/// dimensions that differ, so it does not mean that their sizes are equal, as other names do.
bool is_placeholder(std::string_view dim_name);

}  // namespace tenon
