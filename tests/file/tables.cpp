// .csv files as inputs, and arrays of text.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <tenon/host/arrays.hpp>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "../temporary_folder.hpp"
#include "file/array/csv.hpp"

using namespace tenon;

namespace {

using Row = std::vector<std::string>;

std::vector<Row> rows_of(const std::string& text) {
  const std::string name = "t.csv";
  CsvText csv(name, text);
  std::vector<Row> rows;
  for (std::vector<std::string_view> cells; csv.next(cells);)
    rows.emplace_back(cells.begin(), cells.end());
  return rows;
}

const ValueInfo size{.name = "size", .dtype = f32, .shape = {-1, 1}};
const ValueInfo count{.name = "count", .dtype = i64, .shape = {-1}};
const ValueInfo color{
    .name = "color", .dtype = i64, .shape = {-1, 1}, .categories = {"red", "green", ""}};

struct Files {
  TemporaryFolder folder;
  std::string write(const std::string& text, const char* name = "t.csv") const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return (folder / name).string();
  }
  FailureText refusal(const std::string& text, const std::vector<ValueInfo>& inputs) const {
    return failure_of([&] { load_table(write(text), inputs); });
  }
};

template <class T>
std::vector<T> values(const Tensor& tensor) {
  const auto all = tensor.values<T>();
  return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("csv: cells, quotes and line ends") {
  const std::pair<const char*, std::vector<Row>> cases[] = {
      {"", {}},
      {"a,b\n1,2\n", {{"a", "b"}, {"1", "2"}}},
      {"a,b\r\n1,2", {{"a", "b"}, {"1", "2"}}},
      {"\xef\xbb\xbf"
       "a\n\n\n",
       {{"a"}}},
      {"a\r\n\r\n", {{"a"}}},
      {"a\n\nb\n", {{"a"}, {""}, {"b"}}},
      {",\n,", {{"", ""}, {"", ""}}},
      {"\"a,b\",\"c\"\"d\"\n\"x\ny\",\"\"\"\"\n", {{"a,b", "c\"d"}, {"x\ny", "\""}}},
      {"\"\",\"\"\"a\"\"\"", {{"", "\"a\""}}}};
  for (const auto& [text, rows] : cases) {
    CAPTURE(text);
    CHECK(rows_of(text) == rows);
  }
}

TEST_CASE("csv: broken text is refused with its line") {
  const std::pair<const char*, const char*> cases[] = {
      {"a\n\"b\nc", "line 2: a quote that is not closed"},
      {"\"a\nb\"c\n", "line 2: text after a closing quote"},
      {"a\nb\"c\n", "line 2: a quote within a cell without quotes"},
      {"a\rb\n", "line 1: a carriage return within a line"},
      {"a\n\xff\n", "it is not UTF-8"}};
  for (const auto& [text, sentence] : cases)
    check_says(failure_of([&] { rows_of(text); }).message, {"cannot read t.csv: ", sentence});
}

TEST_CASE("tables: columns by name, empty cells, unknown names") {
  const Files files;
  const auto path = files.write(
      "extra,color,count,size\nx,red, 1 ,0.1\n\"y,\",pink,-2,\nz,,+3,1e30\n,green,4,inf\n");
  const auto found = load_table(path, {count, color});
  CHECK(found.size() == 2);
  CHECK(found.at("count").shape() == Shape{4});
  CHECK(values<std::int64_t>(found.at("count")) == std::vector<std::int64_t>{1, -2, 3, 4});
  CHECK(found.at("color").shape() == Shape{4, 1});
  CHECK(values<std::int64_t>(found.at("color")) == std::vector<std::int64_t>{0, -1, 2, 1});
  const auto sizes = values<float>(load_table(path + "[0:2]", {size, count}).at("size"));
  CHECK(sizes.size() == 2);
  CHECK(sizes[0] == 0.1F);
  CHECK(std::isnan(sizes[1]));
}

TEST_CASE("tables: the only input may be all columns") {
  const Files files;
  const auto path = files.write("a,b,c\n1,2,3\n4,5,6\n");
  const ValueInfo x{.name = "x", .dtype = f32, .shape = {-1, 3}};
  const auto all = load_table(path, {x}).at("x");
  CHECK(all.shape() == Shape{2, 3});
  CHECK(values<float>(all) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(load_array(path).dtype() == f64);
  CHECK(load_array(path).shape() == Shape{2, 3});
  CHECK(values<float>(load_input(path + "[1:]", x)) == std::vector<float>{4, 5, 6});
  // pandas writes its index as a column without a name
  const auto indexed = load_array(files.write(",a\n0,1.5\n1,2.5\n", "indexed.csv"));
  CHECK(values<double>(indexed) == std::vector<double>{0, 1.5, 1, 2.5});
  const ValueInfo b{.name = "b", .dtype = i32, .shape = {-1}};
  CHECK(values<std::int32_t>(load_input(path, b)) == std::vector<std::int32_t>{2, 5});
  CHECK(load_table(files.write("a,b,c\n"), {x}).at("x").shape() == Shape{0, 3});
}

TEST_CASE("tables: what is refused") {
  const Files files;
  const ValueInfo x{.name = "x", .dtype = f32, .shape = {-1, 2}};
  const ValueInfo flag{.name = "flag", .dtype = boolean, .shape = {-1}};
  const ValueInfo half{.name = "half", .dtype = f16, .shape = {-1}};
  const struct {
    int kind;
    const char* text;
    std::vector<ValueInfo> inputs;
    const char* sentence;
  } cases[] = {{4, "", {size}, "it is empty: its first line must name the columns"},
               {4, "a,a\n", {size}, "two columns have the name 'a'"},
               {4, "size,b\n1,2\n3\n", {size}, "line 3 has 1 cell, but the first line has 2"},
               {4, "size\n1\n2,3\n", {size}, "line 3 has 2 cells, but the first line has 1"},
               {4, "size\n1\nred\n", {size}, "line 3: the cell of column 'size' is 'red'"},
               {4, "count\n1\n\n2\n", {count}, "line 3: the cell of column 'count' is empty"},
               {4, "count\n9223372036854775808\n", {count}, "needs to be int64"},
               {4, "count\n1.5\n", {count}, "is '1.5'"},
               {4, "size\n1e400\n", {size}, "column 'size' is '1e400', but needs to be float32"},
               {4, "half\n70000\n", {half}, "is '70000', but needs to be float16"},
               {4, "flag\nyes\n", {flag}, "is 'yes'"},
               {2, "size,b\n1,2\n", {size, count}, "has no column for input 'count'"},
               {2, "a,b,c\n1,2,3\n", {x}, "has 3 columns, but input 'x' is [?, 2]"},
               {2, "x,b\n1,2\n", {x, size}, "has no column for input 'x'"}};
  for (const auto& one : cases) {
    CAPTURE(one.text);
    const auto failure = files.refusal(one.text, one.inputs);
    CHECK(failure.kind == one.kind);
    check_says(failure.message, {one.sentence});
  }
}

TEST_CASE("text arrays: numpy's U and S, in both byte orders and array orders") {
  const Files files;
  const auto npy = [&](const std::string& type, const std::string& shape, const std::string& data,
                       bool fortran = false) {
    auto header = "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") +
                  ", 'shape': " + shape + "}\n";
    return files.write(std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) +
                           '\0' + header + data,
                       "t.npy");
  };
  const auto wide = [](const std::u32string& text, bool big = false) {
    std::string data;
    for (const auto letter : text)
      for (int i = 0; i < 4; ++i) data += static_cast<char>(letter >> 8 * (big ? 3 - i : i) & 0xff);
    return data;
  };
  const ValueInfo names{.name = "x",
                        .dtype = i64,
                        .shape = {},
                        .categories = {"a", "b", "ab", "\u00fc", "\U0001f333", ""}};
  const auto indices = [&](const std::string& path) {
    return values<std::int64_t>(load_input(path, names));
  };
  using Indices = std::vector<std::int64_t>;
  const std::u32string plain{U'a', 0, U'\u00fc', 0, 0, 0, U'a', U'b', U'\U0001f333', 0, U'z', 0};
  CHECK(indices(npy("<U2", "(6,)", wide(plain))) == Indices{0, 3, 5, 2, 4, -1});
  CHECK(indices(npy(">U2", "(6,)", wide(plain, true))) == Indices{0, 3, 5, 2, 4, -1});
  CHECK(indices(npy("<U2", "(2, 3)", wide(plain), true)) == Indices{0, 5, 4, 3, 2, -1});
  CHECK(load_input(npy("<U2", "(2, 3)", wide(plain), true), names).shape() == Shape{2, 3});
  CHECK(indices(npy("|S2", "(3,)",
                    std::string("a\0\xc3\xbc"
                                "ab",
                                6))) == Indices{0, 3, 2});
  CHECK(indices(npy("<U2", "(6,)", wide(plain)) + "[2:4]") == Indices{5, 2});
  CHECK(indices(npy("<i8", "(1,)", std::string("\x02\0\0\0\0\0\0\0", 8))) == Indices{2});
  const std::tuple<const char*, const char*, std::string, const char*> wrong[] = {
      {"<U2", "(2,)", wide({U'a'}), "it has 4 bytes for 2 texts of 8 bytes"},
      {"<U0", "(9223372036854775807,)", "", "which is not a number of characters"},
      {"<U99999999999999999999", "(1,)", "", "which is not a number of characters"},
      {"<U4", "(4611686018427387904, 4)", "abcd", "it has 4 bytes"},
      {"<U1", "(1,)", wide({char32_t{0xd800}}), "text 0 is not Unicode"},
      {"<U1", "(1,)", wide({char32_t{0x110000}}), "text 0 is not Unicode"},
      {"|S1", "(1,)", "\xff", "text 0 is not Unicode"},
      {"|O", "(1,)", "x", "Python objects"}};
  for (const auto& [type, shape, data, sentence] : wrong) {
    const auto path = npy(type, shape, data);
    const auto failure = failure_of([&] { load_input(path, names); });
    CHECK(failure.kind == 4);
    check_says(failure.message, {sentence});
  }
}

TEST_CASE("text arrays: names of indices are written as numpy writes them") {
  const Files files;
  const ValueInfo names{
      .name = "x", .dtype = i64, .shape = {}, .categories = {"a", "\u00fc\U0001f333", ""}};
  const Categories categories(names.categories);
  const auto indices = Tensor::from({std::int64_t{1}, std::int64_t{0}, std::int64_t{2}}, {3, 1});
  const auto path = (files.folder / "y.npy").string();
  save_npy(path, indices, categories);
  const auto read = load_input(path, names);
  CHECK(read.shape() == Shape{3, 1});
  CHECK(values<std::int64_t>(read) == std::vector<std::int64_t>{1, 0, 2});
}
