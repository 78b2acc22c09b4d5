#include "file/array/npy.hpp"

#include <doctest/doctest.h>

#include <random>
#include <tenon/host/arrays.hpp>

#include "failure_of.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

// A hand-made .npy file: version, header text padded as by numpy, elements.
static std::string npy_file(const std::string& dictionary, const std::string& elements,
                            char major = 1) {
  std::string text = dictionary;
  const std::size_t before = major == 1 ? 10 : 12;
  while ((before + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string file = std::string("\x93NUMPY") + major + '\0';
  file += static_cast<char>(text.size() % 256);
  file += static_cast<char>(text.size() / 256);
  if (major > 1) file += std::string(2, '\0');
  return file + text + elements;
}

static std::string dictionary(const std::string& descr, const std::string& shape,
                              bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

static std::string bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

TEST_CASE("npy: files of every dtype, byte by byte") {
  using namespace std::string_literals;
  const struct {
    Tensor tensor;
    const char *descr, *shape;
    std::string elements;
  } cases[] = {
      {Tensor::from({true, false, true}, {3}), "|b1", "(3,)", "\1\0\1"s},
      {Tensor::from<std::uint8_t>({0, 255}, {2}), "|u1", "(2,)", "\0\xff"s},
      {Tensor::from<std::int8_t>({-1, 127}, {1, 2}), "|i1", "(1, 2)", "\xff\x7f"s},
      {Tensor::from({1, -2}, {2, 1}), "<i4", "(2, 1)", "\1\0\0\0\xfe\xff\xff\xff"s},
      {Tensor::from<std::int64_t>({258}, Shape::scalar()), "<i8", "()", "\2\1\0\0\0\0\0\0"s},
      {Tensor::from<half>({half(1.0f), half(-2.0f)}, {2}), "<f2", "(2,)", "\x00\x3c\x00\xc0"s},
      {Tensor::from<bfloat16>({bfloat16(1.0f)}, {1, 1, 1}), "<V2", "(1, 1, 1)", "\x80\x3f"s},
      {Tensor::from({1.0f, -0.0f}, {2}), "<f4", "(2,)", "\0\0\x80\x3f\0\0\0\x80"s},
      {Tensor::from({1.0}, {1}), "<f8", "(1,)", "\0\0\0\0\0\0\xf0\x3f"s},
      {Tensor::from<std::int16_t>({-2, 258}, {2}), "<i2", "(2,)", "\xfe\xff\2\1"s},
      {Tensor::from<std::uint16_t>({65535}, {1}), "<u2", "(1,)", "\xff\xff"s},
      {Tensor::from<std::uint32_t>({0xfffffffe}, {1}), "<u4", "(1,)", "\xfe\xff\xff\xff"s},
      {Tensor::from<std::uint64_t>({UINT64_MAX - 1}, {1}), "<u8", "(1,)",
       "\xfe\xff\xff\xff\xff\xff\xff\xff"s},
      {Tensor::from<Complex<float>>({{1, -2}}, {1}), "<c8", "(1,)", "\0\0\x80\x3f\0\0\0\xc0"s},
      {Tensor::from<Complex<double>>({{1, -2}}, {1}), "<c16", "(1,)",
       "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0"s},
      {Tensor::zeros(f32, {0, 3}), "<f4", "(0, 3)", ""},
  };
  TemporaryFolder folder;
  for (const auto& test : cases) {
    CAPTURE(test.tensor.to_string());
    const std::string expected = npy_file(dictionary(test.descr, test.shape), test.elements);
    write_npy(folder / "written.npy", test.tensor);
    CHECK(read_bytes(folder / "written.npy") == expected);
    for (const char major : {1, 2, 3}) {
      write_bytes(folder / "given.npy",
                  npy_file(dictionary(test.descr, test.shape), test.elements, major));
      CHECK(same_bits(read_npy(folder / "given.npy"), test.tensor));
    }
  }
}

TEST_CASE("npy: a file written by numpy round-trips byte by byte") {
  TemporaryFolder folder;
  for (const char* name : {"digits_images.npy", "digits_labels.npy"}) {
    const std::filesystem::path given = std::filesystem::path(TENON_TEST_DATA) / name;
    const Tensor tensor = read_npy(given);
    CHECK(tensor.dtype() == u8);
    CHECK(tensor.shape()[0] == 1797);
    write_npy(folder / name, tensor);
    CHECK(read_bytes(folder / name) == read_bytes(given));
  }
}

TEST_CASE("npy: axis orders and byte orders that need conversion") {
  const std::string rows("\1\0\2\0\3\0\4\0\5\0\6\0", 12), columns("\1\0\4\0\2\0\5\0\3\0\6\0", 12),
      swapped("\0\1\0\2\0\3\0\4\0\5\0\6", 12), both("\0\1\0\4\0\2\0\5\0\3\0\6", 12);
  const struct {
    const char* descr;
    bool fortran;
    std::string elements;
  } cases[] = {{"<f2", false, rows},
               {"=f2", false, rows},
               {"<f2", true, columns},
               {">f2", false, swapped},
               {">f2", true, both}};
  TemporaryFolder folder;
  for (const auto& test : cases) {
    CAPTURE(test.descr);
    CAPTURE(test.fortran);
    for (const std::size_t spaces : {0, 1, 2, 3}) {  // an odd header leaves the elements unaligned
      const std::string text =
          dictionary(test.descr, "(2, 3)", test.fortran) + std::string(spaces, ' ');
      write_bytes(folder / "x.npy", std::string("\x93NUMPY\1\0", 8) +
                                        static_cast<char>(text.size()) + '\0' + text +
                                        test.elements);
      const Tensor tensor = read_npy(folder / "x.npy");
      CHECK(tensor.shape() == Shape{2, 3});
      CHECK(tensor.contiguous());
      CHECK(bytes_of(tensor) == rows);
    }
  }
  write_bytes(folder / "x.npy",
              npy_file(dictionary(">f8", "(2,)"),
                       std::string("\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16)));
  CHECK(read_npy(folder / "x.npy").to_string() == "float64 [2]  1 -2");
  write_bytes(folder / "x.npy",
              npy_file(dictionary("<f4", "(0, 4611686018427387904, 4)", true), ""));
  CHECK(read_npy(folder / "x.npy").size() == 0);
}

TEST_CASE("npy: a strided tensor is written in C order") {
  TemporaryFolder folder;
  float values[6] = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> strides = {1, 2};
  write_npy(folder / "x.npy", Tensor::borrow(values, f32, {2, 3}, strides));
  CHECK(read_npy(folder / "x.npy").to_string() == "float32 [2, 3]  1 3 5 2 4 6");
}

TEST_CASE("npy: elements are mapped if possible, and writes to them leave the file unchanged") {
  TemporaryFolder folder;
  write_npy(folder / "x.npy", Tensor::from({1.0f, 2.0f}, {2}));
  const Tensor tensor = read_npy(folder / "x.npy", 0);                   // as a large file
  CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % 4096 == 128);  // right after the header
  tensor.data<float>()[0] = 7;
  CHECK(tensor.to_string() == "float32 [2]  7 2");
  CHECK(read_npy(folder / "x.npy").to_string() == "float32 [2]  1 2");
}

TEST_CASE("npy: failed reads and writes report errors and leave existing files intact") {
  TemporaryFolder folder;
  const std::string at = folder.path().string();
  CHECK(failure_of([&] { read_npy(folder / "x.npy"); }).message ==
        "cannot read " + at + "/x.npy: there is no such file");
  CHECK(failure_of([&] { read_npy(folder.path()); }).message ==
        "cannot read " + at + ": it is a folder, but a file is needed");
  const Tensor tensor = Tensor::zeros(f32, {3});
  CHECK(failure_of([&] { write_npy(folder / "no/x.npy", tensor); }).message ==
        "cannot write " + at + "/no/x.npy: the folder " + at + "/no does not exist");
  write_npy(folder / "x.npy", tensor);
  CHECK(failure_of([&] { write_npy(folder / "x.npy", Tensor()); }).kind == 2);
  CHECK(same_bits(read_npy(folder / "x.npy"), tensor));
  CHECK(folder.names() == std::vector<std::string>{"x.npy"});
}

TEST_CASE(
    "npy: a file written in row blocks equals the whole array, and appears when it is complete") {
  const TemporaryFolder folder;
  const auto path = folder / "rows.npy";
  auto all = Tensor::empty(f32, {5, 2});
  for (int i = 0; i < 10; ++i)
    all.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i) / 4;
  write_npy(folder / "whole.npy", all);
  const auto rows = [&](std::int64_t begin, std::int64_t end) {
    return Tensor::borrow(all.data<float>() + 2 * begin, f32, {end - begin, 2}, {},
                          std::make_shared<Tensor>(all));
  };
  NpyWriter writer(path, f32, {5, 2});
  writer.write(rows(0, 2));
  writer.write(rows(2, 2));
  CHECK(failure_of([&] { writer.commit(); }).message ==
        "cannot write " + path.string() + ": it has 5 rows but 2 were written");
  const std::pair<Tensor, const char*> wrong[] = {
      {rows(1, 5), "it has 5 rows but 6 were written"},
      {Tensor::zeros(f32, {1, 3}), "its rows are float32 [5, 2] but float32 [1, 3] was written"},
      {Tensor::zeros(f64, {1, 2}), "its rows are float32 [5, 2] but float64 [1, 2] was written"},
      {Tensor::zeros(f32, Shape::scalar()),
       "its rows are float32 [5, 2] but float32 [] was written"}};
  for (const auto& [tensor, words] : wrong)
    CHECK(failure_of([&, &tensor = tensor] { writer.write(tensor); }).message ==
          "cannot write " + path.string() + ": " + words);
  writer.write(rows(2, 5));
  CHECK_FALSE(std::filesystem::exists(path));
  writer.commit();
  CHECK(read_bytes(path) == read_bytes(folder / "whole.npy"));
  CHECK(failure_of([&] {
          NpyWriter(path, f32, Shape::scalar());
        }).message.ends_with("a scalar has no rows"));
}

TEST_CASE("npy: elements that do not match their header") {
  using namespace std::string_literals;
  const struct {
    const char *descr, *shape;
    std::string elements;
    const char* reason;
  } cases[] = {
      {"|b1", "(3,)", "\1\0\2"s, "element 2 is 2, but a bool is 0 or 1"},
      {"<f4", "(2, 2)", std::string(15, 'x'),
       "it is truncated: it has 15 of the 16 bytes of float32 [2, 2]"},
      {"<f4", "(2, 2)", std::string(17, 'x'), "it has 1 byte after its array of float32 [2, 2]"},
      {"<f4", "(0,)", "x", "it has 1 byte after its array of float32 [0]"},
      {"<f8", "(2305843009213693952,)", "x",
       "its shape [2305843009213693952] has more bytes than can be counted"},
      {"<f4", "(4294967296, 4294967296, 4294967296)", "",
       "its shape [4294967296, 4294967296, 4294967296] has more bytes than can be counted"},
  };
  TemporaryFolder folder;
  for (const auto& test : cases) {
    write_bytes(folder / "x.npy", npy_file(dictionary(test.descr, test.shape), test.elements));
    const FailureText failure = failure_of([&] { read_npy(folder / "x.npy"); });
    CHECK(failure.kind == 4);
    CHECK(failure.message == "cannot read " + (folder / "x.npy").string() + ": " + test.reason);
  }
}

TEST_CASE("npy: a file truncated anywhere is refused") {
  TemporaryFolder folder;
  for (const char major : {1, 2}) {
    const std::string whole = npy_file(dictionary("<f4", "(2,)"), std::string(8, 'x'), major);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(size);
      write_bytes(folder / "x.npy", whole.substr(0, size));
      const FailureText failure = failure_of([&] { read_npy(folder / "x.npy"); });
      REQUIRE(failure.kind == 4);
      CHECK(failure.message.starts_with("cannot read " + (folder / "x.npy").string() + ": it is " +
                                        (size == 0 ? "empty" : "truncated")));
    }
  }
}

TEST_CASE("npy: a damaged file is read or refused, never trusted") {
  TemporaryFolder folder;
  const std::string whole =
      npy_file(dictionary("|b1", "(3, 2)", true), std::string("\1\0\1\0\1\1", 6));
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (unsigned flips = random() % 3 + 1; flips-- > 0;)
      damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
    write_bytes(folder / "x.npy", damaged);
    Tensor tensor;
    const FailureText failure = failure_of([&] { tensor = read_npy(folder / "x.npy"); });
    REQUIRE((failure.kind == 0 || failure.kind == 4));
    if (failure.kind == 4) ++refused;
    if (tensor) CHECK(tensor.bytes() == 6);
  }
  CHECK(refused > 2500);
}
