// Types, tensors and initializers in a graph.json: "dtype", "shape", and the elements as "values" or in an "npy" or "npz" file; "init":
// "zeros", "ones", "xavier", "he", {"uniform": [a, b]}, {"normal": [mean, sd]}, {"value": v}.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "graph/model.hpp"
#include "graph/type.hpp"
#include "io/json_document.hpp"

namespace tenon {

/// From "dtype", "shape" and "storage" of an object, each unknown where it is not given. `what` is for messages: "input 'image'". With
/// `dim_names`, a dimension may be a name: it is unknown then, and the names of all go there, empty ones too, if there are any.
tenon_type read_json_type(const JsonField& object, const std::string& what, std::vector<std::string>* dim_names = nullptr);

/// From "values", "npy" or "npz" of an object; empty where it has none. What `type` knows must fit; values without a dtype are float32,
/// dense ones without a shape have that of the lists. csr has "columns" and "row_starts" beside its values, row_sparse "row_ids"; both may
/// have an "index_dtype", int64 by default. A npz file holds a csr matrix. Files are looked for in `folder`.
Tensor read_json_tensor(const JsonField& object, const std::string& what, const tenon_type& type, const std::filesystem::path& folder);

/// Lists in lists with the dtype of `type`, which must be known, and its shape, where that is known.
Tensor read_json_values(const JsonField& values, const tenon_type& type);

/// `"dtype": "float32", "shape": [2, 3]`, as far as they are known; empty where nothing is. Unknown dimensions that have a name are that.
std::string json_type(const tenon_type& type, const std::vector<std::string_view>& dim_names = {});

/// `"values": [[1, 2], [3, 4]]` and what else read_json_tensor() needs; lists without elements are [].
std::string json_elements(const Tensor& tensor);

Init read_init(const JsonField& field, std::string_view what);

/// Not for Init::Kind::automatic, which is nothing said.
void append_init(std::string& to, const Init& init);

}  // namespace tenon
