#include "file/array/npy_header.hpp"

#include <doctest/doctest.h>

#include "failure_of.hpp"

using namespace tenon;
using namespace std::string_literals;

static NpyHeader parse(const std::string& file) {
  return parse_npy_header("x.npy", std::as_bytes(std::span(file)));
}

static std::string with_text(const std::string& text) {
  return "\x93NUMPY\x01\0"s + static_cast<char>(text.size() % 256) +
         static_cast<char>(text.size() / 256) + text;
}

TEST_CASE("npy headers written by other programs") {
  const struct {
    const char* text;
    DType dtype;
    Shape shape;
  } cases[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", f32, {2, 3}},
      {"{'descr':'<f4','fortran_order':False,'shape':(2,3)}", f32, {2, 3}},
      {"{\"shape\": (2, 3,), \"descr\": \"<f4\", \"fortran_order\": False}   \n", f32, {2, 3}},
      {"  {'shape' : ( 2 , 3 ) ,\n 'descr': '<i8',\t'fortran_order': False} \n\n", i64, {2, 3}},
      {"{'descr': '|b1', 'fortran_order': False, 'shape': (7L,), }", boolean, {7}},
      {"{'descr': '<b1', 'fortran_order': False, 'shape': (), }", boolean, Shape::scalar()},
      {"{'descr': '|V2', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1), }",
       bf16,
       {1, 1, 1, 1, 1, 1, 1, 1}},
      {"{'descr': '|i1', 'fortran_order': False, 'shape': (9223372036854775807,), }",
       i8,
       {INT64_MAX}},
      // numpy.dtype() gives the same for these as for '<f4', '<c16' ...
      {"{'descr': 'f4', 'fortran_order': False, 'shape': (2,), }", f32, {2}},
      {"{'descr': '|f4', 'fortran_order': False, 'shape': (2,), }", f32, {2}},
      {"{'descr': '=u8', 'fortran_order': False, 'shape': (2,), }", u64, {2}},
      {"{'descr': 'c16', 'fortran_order': False, 'shape': (2,), }", c128, {2}},
      {"{'descr': 'float64', 'fortran_order': False, 'shape': (2,), }", f64, {2}},
      {"{'descr': '?', 'fortran_order': False, 'shape': (2,), }", boolean, {2}},
      {"{'descr': '|?', 'fortran_order': False, 'shape': (2,), }", boolean, {2}},
      {"{'descr': 'bool', 'fortran_order': False, 'shape': (2,), }", boolean, {2}},
      {"{'descr': 'V2', 'fortran_order': False, 'shape': (2,), }", bf16, {2}},
  };
  for (const auto& test : cases) {
    CAPTURE(test.text);
    const NpyHeader header = parse(with_text(test.text));
    CHECK(header.dtype == test.dtype);
    CHECK(header.shape == test.shape);
    CHECK_FALSE(header.fortran_order);
    CHECK_FALSE(header.big_endian);
    CHECK(header.size == 10 + std::string(test.text).size());
  }
  CHECK(parse(with_text("{'descr': '>f4', 'fortran_order': False, 'shape': ()}")).big_endian);
  CHECK_FALSE(parse(with_text("{'descr': '>u1', 'fortran_order': False, 'shape': ()}")).big_endian);
  CHECK(parse(with_text("{'descr': '<f4', 'fortran_order': True, 'shape': ()}")).fortran_order);
}

TEST_CASE("npy headers that are refused") {
  const struct {
    std::string file;
    const char* reason;
  } cases[] = {
      {"", "it is empty"},
      {"hello", "it is not a .npy file: it does not begin with \\x93NUMPY"},
      {"PK\3\4", "it is an archive, not an array"},
      {"\x93NUM", "it is truncated within its first 8 bytes"},
      {"\x93NUMPY\4\0\2\0{}"s, "it has format version 4.0 but must be 1.0 to 3.0"},
      {"\x93NUMPY\1\1\2\0{}"s, "it has format version 1.1 but must be 1.0 to 3.0"},
      {"\x93NUMPY\0\0\2\0{}"s, "it has format version 0.0 but must be 1.0 to 3.0"},
      {"\x93NUMPY\1"s, "it is truncated within its first 8 bytes"},
      {"\x93NUMPY\1\0"s, "it is truncated before its header"},
      {"\x93NUMPY\1\0\2"s, "it is truncated before its header"},
      {"\x93NUMPY\2\0\2\0{}"s,
       "it is truncated: its header ends at byte 2105212942 but the file at 12"},
      {"\x93NUMPY\1\0\3\0{}"s, "it is truncated: its header ends at byte 13 but the file at 12"},
      {"\x93NUMPY\1\0\xff\xff{}"s,
       "it is truncated: its header ends at byte 65545 but the file at 12"},
      {"\x93NUMPY\3\0\xff\xff\xff\xff{}"s,
       "it is truncated: its header ends at byte 4294967307 but the file at 14"},
      {with_text(""), "its header is broken at byte 10: expected '{'"},
      {with_text("{}"), "its header lacks 'descr'"},
      {with_text("{'descr': '<f4'}"), "its header lacks 'fortran_order'"},
      {with_text("{'fortran_order': False, 'shape': (1,)}"), "its header lacks 'descr'"},
      {with_text("{'descr': '<f4', 'shape': (1,)}"), "its header lacks 'fortran_order'"},
      {with_text("{'descr': '<f4', 'fortran_order': False}"), "its header lacks 'shape'"},
      {with_text("{'descr': '<f4', 'descr': '<f4'}"), "its header has 'descr' twice"},
      {with_text("{'order': 1}"),
       "its header has an entry 'order', which is not part of the format"},
      {with_text("{'\x1b[2J': 1}"),
       "its header has an entry '\\x1b[2J', which is not part of the format"},
      {with_text("{descr: '<f4'}"), "its header is broken at byte 11: expected a quoted key"},
      {with_text("{'descr' '<f4'}"), "its header is broken at byte 19: expected ':'"},
      {with_text("{'descr': <f4}"), "its header is broken at byte 20: expected a quoted dtype"},
      {with_text("{'descr': '<f4}"),
       "its header is broken at byte 20: expected a string on one line, without backslashes"},
      {with_text("{'descr': '\\x3cf4'}"),
       "its header is broken at byte 20: expected a string on one line, without backslashes"},
      {with_text("{'descr': '<f4' 'shape': ()}"), "its header is broken at byte 26: expected '}'"},
      {with_text("{'fortran_order': 1}"),
       "its header is broken at byte 28: expected True or False"},
      {with_text("{'shape': 3}"), "its header is broken at byte 20: expected '('"},
      {with_text("{'shape': (3)}"), "its header is broken at byte 22: expected a comma"},
      {with_text("{'shape': (3 4)}"), "its header is broken at byte 23: expected a comma"},
      {with_text("{'shape': (3, 4 5)}"), "its header is broken at byte 26: expected ')'"},
      {with_text("{'shape': (-3,)}"), "its header is broken at byte 21: expected a dimension"},
      {with_text("{'shape': (,)}"), "its header is broken at byte 21: expected a dimension"},
      {with_text("{'shape': (3.5,)}"), "its header is broken at byte 22: expected a comma"},
      {with_text("{'shape': (3,"), "its header is broken at byte 23: expected a dimension"},
      {with_text("{'shape': (9223372036854775808,)}"),
       "one of its dimensions does not fit 64 bits"},
      {with_text("{'shape': (99999999999999999999999,)}"),
       "one of its dimensions does not fit 64 bits"},
      {with_text("{'shape': (1, 2, 3, 4, 5, 6, 7, 8, 9)}"),
       "it has more than 8 dimensions, the maximum"},
      {with_text("{'descr': '<f4', 'fortran_order': False, 'shape': ()} #"),
       "its header is broken at byte 64: expected nothing but spaces"},
      {with_text("{'descr': '<f4', 'fortran_order': False, 'shape': ()}\0"s),
       "its header is broken at byte 63: expected nothing but spaces"},
      {with_text("{'descr': '|O', 'fortran_order': False, 'shape': ()}"),
       "its elements are Python objects, which are not loaded because unpickling could run code"},
      {with_text("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}"),
       "its elements are records of several fields"},
      {with_text("{'descr': '<i3', 'fortran_order': False, 'shape': ()}"),
       "its elements have numpy's type '<i3', which Tenon does not support"},
      {with_text("{'descr': '<c32', 'fortran_order': False, 'shape': ()}"),
       "its elements have numpy's type '<c32', which Tenon does not support"},
      {with_text("{'descr': '<U12', 'fortran_order': False, 'shape': ()}"),
       "its elements have numpy's type '<U12', which Tenon does not support"},
      {with_text("{'descr': '<float32', 'fortran_order': False, 'shape': ()}"),
       "its elements have numpy's type '<float32', which Tenon does not support"},
      {with_text("{'descr': '', 'fortran_order': False, 'shape': ()}"),
       "its elements have numpy's type '', which Tenon does not support"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.reason);
    const FailureText failure = failure_of([&] { parse(test.file); });
    CHECK(failure.kind == 4);
    CHECK(failure.message == std::string("cannot read x.npy: ") + test.reason);
  }
}

TEST_CASE("an npy header fills whole cache lines and matches numpy's text") {
  const struct {
    DType dtype;
    Shape shape;
    const char* text;
  } cases[] = {
      {f32, Shape::scalar(), "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
      {u8, {5}, "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }"},
      {i64, {2, 0, 3}, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 0, 3), }"},
  };
  for (const auto& test : cases) {
    const std::string header = npy_header(test.dtype, test.shape);
    CHECK(header.size() % 64 == 0);
    CHECK(header.substr(0, 8) == "\x93NUMPY\1\0"s);
    CHECK(header.substr(10).starts_with(test.text));
    CHECK(header.find_first_not_of(' ', 10 + std::string(test.text).size()) == header.size() - 1);
    CHECK(header.back() == '\n');
  }
  constexpr std::int64_t most = INT64_MAX;
  const Shape wide{most, most, most, most, most, most, most, most};
  CHECK(parse(npy_header(f64, wide)).shape == wide);
}
