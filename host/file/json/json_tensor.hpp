// Types, tensors and initializers in a graph.json: "dtype", "shape", the elements as "values" or in
// an "npy" or "npz" file; "init": "zeros", "ones", "xavier", "he", {"uniform": [a, b]}, {"normal":
// [mean, sd]}, {"value": v}.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "graph/inference/type.hpp"
#include "graph/model.hpp"
#include "io/json_document.hpp"

namespace tenon {

/// Reads "dtype", "shape" and "storage" of an object; absent ones are unknown. `what` is for
/// messages: "input 'image'". With `dim_names`, a dimension may be a name: its size is then
/// unknown, and if any dimension is named, `dim_names` receives one entry for each dimension, empty
/// if unnamed.
tenon_type read_json_type(const JsonField& object, const std::string& what,
                          std::vector<std::string>* dim_names = nullptr);

/// Reads "values", "npy" or "npz" of an object; returns an empty tensor if it has none. The known
/// fields of `type` must match. Values without a dtype are float32, dense ones without a shape have
/// the shape of the lists. csr needs "columns" and "row_starts" along with its values, row_sparse
/// "row_ids"; both accept an "index_dtype", int64 by default. An npz file holds a csr matrix.
/// Relative files are resolved against `folder`.
Tensor read_json_tensor(const JsonField& object, const std::string& what, const tenon_type& type,
                        const std::filesystem::path& folder);

/// Nested lists with the dtype of `type`, which must be known, and its shape, if that is known.
Tensor read_json_values(const JsonField& values, const tenon_type& type);

/// `"dtype": "float32", "shape": [2, 3]`, as far as they are known; may be empty. Unknown
/// dimensions that have a name are written as the name.
std::string json_type(const tenon_type& type, const std::vector<std::string_view>& dim_names = {});

/// `"values": [[1, 2], [3, 4]]` and everything else that read_json_tensor() needs; a list without
/// elements is [].
std::string json_elements(const Tensor& tensor);

Init read_init(const JsonField& field, std::string_view what);

/// The kind must not be Init::Kind::automatic, which is written as nothing.
void append_init(std::string& to, const Init& init);

}  // namespace tenon
