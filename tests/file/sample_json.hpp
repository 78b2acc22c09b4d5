// A graph.json in canonical form, with one of everything.
#pragma once

inline const char* const sample_json = R"({
  "tenon": 1,
  "name": "sample",
  "inputs": {
    "image": {"dtype": "float32", "shape": [-1, 4]},
    "free": {}
  },
  "variables": {
    "fc_weight": {"init": "he", "dtype": "float32", "shape": [3, 4]},
    "fc_bias": {"init": {"uniform": [-0.5, 1e-07]}, "dtype": "float32", "shape": [3], "values": [0.1, -0.0, "nan"]},
    "scalar": {"init": {"value": "inf"}, "dtype": "float64", "shape": []},
    "half": {"init": {"normal": [0.0, 0.1]}, "dtype": "float16", "shape": [2], "values": [0.099975586, 65504.0]},
    "rows": {"dtype": "float32", "shape": [6, 2], "storage": "row_sparse", "values": [[1.0, 2.0], [3.0, 4.0]], "row_ids": [1, 4]},
    "unset": {"dtype": "float32", "shape": [6, 2], "storage": "row_sparse"}
  },
  "constants": {
    "größe": {"dtype": "int64", "shape": [2, 2], "values": [[-9223372036854775808, 0], [1, 9223372036854775807]]},
    "flags": {"dtype": "bool", "shape": [2], "values": [true, false]},
    "none": {"dtype": "uint8", "shape": [0, 7], "values": []},
    "words": {"dtype": "float32", "shape": [3, 3], "storage": "csr", "values": [1.5, -2.0, 0.25], "columns": [0, 2, 1], "row_starts": [0, 2, 2, 3]},
    "small": {"dtype": "int8", "shape": [1, 9], "storage": "csr", "values": [7], "columns": [8], "row_starts": [0, 1], "index_dtype": "int32"},
    "blank": {"dtype": "bool", "shape": [0, 2], "storage": "csr", "values": [], "columns": [], "row_starts": [0]}
  },
  "states": {
    "count_calls": {"dtype": "float32", "shape": [1], "values": [3.0]}
  },
  "nodes": [
    {"name": "fc", "op": "app.fully_connected", "inputs": ["image", "fc_weight", "fc_bias"], "attrs": {"num_hidden": 3, "no_bias": false}},
    {"name": "count", "op": "app.counter", "inputs": ["fc"]},
    {"name": "bare", "op": "app.fully_connected", "inputs": ["image", "fc_weight"], "attrs": {"num_hidden": 3, "no_bias": true}, "device": "cpu"},
    {"name": "odd", "op": "app.odd", "inputs": ["count", "fc"], "attrs": {"flag": true, "small": -3, "whole": 9223372036854775807, "single": 0.1, "real": "-inf", "words": "two\nlines \"ü\"", "wholes": [], "reals": [-0.0, 1e+300, "nan"], "mode": "hard"}}
  ],
  "outputs": {
    "first": "odd:1",
    "second": "image"
  },
  "notes": {
    "author": "a test"
  }
}
)";
