// A range of an array's rows: --input FILE[BEGIN:END].
#include <doctest/doctest.h>

#include "cli/workplace.hpp"

TEST_CASE("--input: a range of rows") {
  const Workplace place;
  place.write("same.json", R"({"tenon": 1, "inputs": {"x": {"dtype": "uint8"}},
 "nodes": [{"name": "y", "op": "cast", "inputs": ["x"], "attrs": {"dtype": "float32"}}],
 "outputs": {"y": "y"}})");
  place.write("x.npy",
              npy_bytes("|u1", "(4, 2)", 0) + std::string("\x01\x02\x03\x04\x05\x06\x07\x08"));
  place.write("columns.npy", npy_bytes("|u1", "(4, 2)", 0, true) +
                                 std::string("\x01\x03\x05\x07\x02\x04\x06\x08"));
  place.write("none.npy", npy_bytes("|u1", "(0, 2)", 0));
  place.write("one.npy", npy_bytes("|u1", "()", 1));
  const struct {
    const char* file;
    int code;
    std::string out;  // the beginning of stdout, or of stderr on failure
  } rows[] = {
      {"x.npy", 0, "y  float32 [4, 2]  1 2 3 4 5 6 7 8\n"},
      {"x.npy[:]", 0, "y  float32 [4, 2]  1 2 3 4 5 6 7 8\n"},
      {"x.npy[1:3]", 0, "y  float32 [2, 2]  3 4 5 6\n"},
      {"x.npy[:1]", 0, "y  float32 [1, 2]  1 2\n"},
      {"x.npy[3:]", 0, "y  float32 [1, 2]  7 8\n"},
      {"x.npy[0:4]", 0, "y  float32 [4, 2]  1 2 3 4 5 6 7 8\n"},
      {"x.npy[2:2]", 0, "y  float32 [0, 2]"},
      {"columns.npy[2:]", 0, "y  float32 [2, 2]  5 6 7 8\n"},
      {"none.npy[0:]", 0, "y  float32 [0, 2]"},
      {"one.npy", 0, "y  float32 []  0\n"},
      {"x.npy[2:5]", 2, "error: 'x.npy' has 4 rows, but rows 2 to 5 are requested\n"},
      {"x.npy[5:]", 2, "error: 'x.npy' has 4 rows, but rows 5 to 4 are requested\n"},
      {"x.npy[3:2]", 2, "error: 'x.npy' has 4 rows, but rows 3 to 2 are requested\n"},
      {"none.npy[0:1]", 2, "error: 'none.npy' has 0 rows, but rows 0 to 1 are requested\n"},
      {"one.npy[0:1]", 2, "error: 'one.npy' is a scalar and has no rows\n"},
      {"x.npy[-1:]", 2,
       "error: '-1' is not a row of 'x.npy[-1:]'\nhint: write rows as x.npy[0:1500] or "
       "x.npy[1500:]\n"},
      {"x.npy[a:]", 2, "error: 'a' is not a row of 'x.npy[a:]'\n"},
      {"x.npy[1]", 4, "error: cannot read x.npy[1]: there is no such file\n"},
      {"x.npy[0:99999999999999999999]", 2, "error: '99999999999999999999' is not a row"},
      {"y.npy[0:1]", 4, "error: cannot read y.npy: there is no such file\n"},
  };
  for (const auto& row : rows) {
    const auto result = place.run({"run", "same.json", "--input", std::string("x=") + row.file});
    INFO(std::string(row.file));
    INFO(result.out << result.err);
    CHECK(result.code == row.code);
    CHECK((row.code == 0 ? result.out : result.err).starts_with(row.out));
  }
}
