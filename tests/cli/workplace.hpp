// A folder with a few graphs and arrays, in which tests run the program.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/run_program.hpp"
#include "temporary_folder.hpp"

using Words = std::vector<std::string>;

inline bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

/// Reads x, float32 [?, 4], and returns y; its last node must be called a.
inline std::string graph_json(std::string_view nodes, std::string_view dtype = "float32") {
  return std::string(R"({"tenon": 1, "inputs": {"x": {"dtype": ")") + std::string(dtype) +
         R"(", "shape": [-1, 4]}},)" + "\n \"nodes\": [" + std::string(nodes) +
         "],\n \"outputs\": {\"y\": \"a\"}}\n";
}

/// Returns a .npy file in numpy's format.
inline std::string npy_bytes(const std::string& descr, const std::string& shape,
                             std::size_t data_bytes, bool fortran = false) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const auto length = header.size();
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 0xff) +
         static_cast<char>(length >> 8) + header + std::string(data_bytes, '\0');
}

class Workplace {
 public:
  Workplace() {
    write(
        "g.json",
        graph_json(
            R"({"name": "h", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": 3}},
  {"name": "a", "op": "relu", "inputs": ["h"]})"));
    write("x.npy", npy_bytes("<f4", "(2, 4)", 32));
    if (run({"build", "g.json", "-o", "g.tenon"}).code != 0)
      throw std::runtime_error("the test's own graph cannot be built");
  }
  void write(std::string_view name, std::string_view bytes) const {
    write_bytes(folder_ / name, bytes);
  }
  ProgramResult run(const std::vector<std::string>& arguments) const {
    return run_in(arguments, {});
  }
  ProgramResult run_in(const std::vector<std::string>& arguments, ProgramPlace place) const {
    place.folder = folder_.path();
    return run_tenon(arguments, place);
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};
