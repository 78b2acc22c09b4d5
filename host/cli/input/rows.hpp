// Some rows of an array in a file, as people name them.
#pragma once
#include <string>
#include <tenon/tensor.hpp>

namespace tenon::cli {

/// For the input `name`: FILE, or FILE[BEGIN:END] with either end left out, contiguous. The file is mapped where it can be, and its rows
/// are not copied; of csr they are. Throws Failure: (usage) for rows that are not there, and as read_input().
Tensor read_rows(const std::string& name, const std::string& text, const tenon_type& type);

}  // namespace tenon::cli
