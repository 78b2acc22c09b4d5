// A valid manifest as JSON, to be modified and written as CBOR: nlohmann's writer is independent of
// the SDK's.
#pragma once
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

using Json = nlohmann::ordered_json;

inline Json sound_manifest(const std::string& name = "scale_up") {
  return Json::parse(
      R"({
    "tenon": 1, "name": ")" +
      name +
      R"(", "doc": "something with everything in it", "version": 3,
    "aliases": ["upscale", "enlarge"],
    "types": ["float32", "float64"],
    "inputs": [{"name": "data", "doc": "values", "optional": false, "variadic": false,
                "types": null},
               {"name": "index", "doc": "where", "optional": true, "variadic": false,
                "types": ["int32", "int64"]},
               {"name": "rest", "doc": "more", "optional": false, "variadic": true, "types": null}],
    "outputs": [{"name": "output", "doc": "result", "hidden": false, "count": "parts"},
                {"name": "mask", "doc": "for backward", "hidden": true, "count": null}],
    "states": [{"name": "mean", "doc": "running"}],
    "params": [
      {"name": "parts", "doc": "", "kind": "int32", "default": 2, "required": false, "min": 1,
       "max": 8, "above": null, "below": null, "choices": []},
      {"name": "scale", "doc": "", "kind": "float32", "default": 1.5, "required": false,
       "min": null, "max": null, "above": 0.0, "below": 2.0,
       "choices": []},
      {"name": "mode", "doc": "", "kind": "enum", "default": "near", "required": false, "min": null,
       "max": null, "above": null, "below": null,
       "choices": ["near", "far"]},
      {"name": "size", "doc": "", "kind": "int64", "default": 0, "required": true, "min": 1,
       "max": null, "above": null, "below": null, "choices": []},
      {"name": "axes", "doc": "", "kind": "ints", "default": [0, -1], "required": false, "min": -1,
       "max": null, "above": null, "below": null,
       "choices": []},
      {"name": "label", "doc": "", "kind": "text", "default": "x", "required": false, "min": null,
       "max": null, "above": null, "below": null,
       "choices": []},
      {"name": "flip", "doc": "", "kind": "bool", "default": true, "required": false, "min": null,
       "max": null, "above": null, "below": null,
       "choices": []}],
    "inplace": [["data", "output"]], "backward_inplace": [["output", "data"]],
    "backward_reads": ["index", "mask"],
    "accumulates": true, "strides": false, "random": true, "elementwise": false,
    "kernels_elsewhere": true,
    "functions": ["forward", "backward"],
    "renamed": [[2, "factor", "ratio"], [3, "ratio", "scale"]], "added": [[2, "mode"]]})");
}

inline std::vector<std::byte> as_cbor(const Json& json) {
  const std::vector<std::uint8_t> bytes = Json::to_cbor(json);
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}
