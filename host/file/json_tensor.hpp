// Types and tensors in a graph.json: "dtype", "shape", and the elements as "values" or in an "npy" file.
#pragma once
#include <filesystem>
#include <string>
#include <tenon/tensor.hpp>

#include "file/json_document.hpp"
#include "graph/type.hpp"

namespace tenon {

/// From "dtype", "shape" and "storage" of an object, each unknown where it is not given. `what` is for messages: "input 'image'".
tenon_type read_json_type(const JsonField& object, const std::string& what);

/// From "values" or "npy" of an object; empty where it has neither. What `type` knows must fit; values without a dtype are float32, without
/// a shape have that of the lists. npy files are looked for in `folder`.
Tensor read_json_tensor(const JsonField& object, const std::string& what, const tenon_type& type, const std::filesystem::path& folder);

/// `"dtype": "float32", "shape": [2, 3]`, as far as they are known; empty where nothing is.
std::string json_type(const tenon_type& type);

/// Lists in lists, a number for each element; [] where there is none.
void append_json_elements(std::string& to, const Tensor& tensor);

}  // namespace tenon
