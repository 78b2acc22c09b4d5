// Models that are small as files but large in memory.
#pragma once
#include "onnx_bytes.hpp"

namespace onnx_bombs {

struct Bomb {
  std::string what, bytes;
  bool exhausts = true;  // else it fits, or it is invalid for another reason, too
};

/// Repeats a field with a one-byte key: two bytes per occurrence if it has no content.
inline std::string repeated(std::uint32_t field, std::size_t bytes,
                            const std::string& content = {}) {
  const auto one = onnx_bytes::message([&](auto& to) { to.add_message(field, content); });
  std::string all;
  all.reserve(bytes + one.size());
  while (all.size() < bytes) all += one;
  return all;
}

/// Models of about this size.
inline std::vector<Bomb> all(std::size_t bytes) {
  using namespace onnx_bytes;
  const auto graph = [](const std::string& fields) { return ModelFields().around(fields); };
  const auto node = [&](const std::string& fields) {
    return graph(message([&](auto& to) { to.add_message(1, fields); }));
  };
  const auto attribute = [&](const std::string& fields) {
    return node(message([&](auto& to) { to.add_message(5, fields); }));
  };
  const auto input = [&](const std::string& type) {
    return graph(message([&](auto& to) { to.add_message(11, value("x", type)); }));
  };
  const auto kind = [](std::int32_t number) {
    return message([&](auto& to) { to.add_string(1, "a"), to.add_int32(20, number); });
  };
  const auto shape = repeated(1, bytes);
  return {{"nodes", graph(repeated(1, bytes))},
          {"initializers", graph(repeated(5, bytes))},
          {"inputs", graph(repeated(11, bytes)), false},
          {"value_infos", graph(repeated(13, bytes)), false},
          {"sparse initializers", graph(repeated(15, bytes))},
          {"names of inputs", node(repeated(1, bytes)), false},
          {"attributes", node(repeated(5, bytes))},
          {"tensors", attribute(kind(9) + repeated(10, bytes))},
          {"graphs", attribute(kind(10) + repeated(11, bytes))},
          {"types", attribute(kind(14) + repeated(15, bytes))},
          {"nodes in attributes",
           attribute(kind(5) + message([&](auto& to) { to.add_message(6, repeated(1, bytes)); }))},
          {"dimensions", input(message([&](auto& to) {
             to.add_message(1, message([&](auto& type) { type.add_message(2, shape); }));
           })),
           false},
          {"functions", ModelFields().bytes() +
                            message([&](auto& to) { to.add_message(25, repeated(7, bytes)); })}};
}

}  // namespace onnx_bombs
