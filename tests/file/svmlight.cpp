#include "file/array/svmlight.hpp"

#include <doctest/doctest.h>

#include <random>
#include <tenon/host/arrays.hpp>

#include "failure_of.hpp"
#include "temporary_folder.hpp"

using namespace tenon;

namespace {

constexpr auto automatic = SvmOptions::First::automatic, zero = SvmOptions::First::zero,
               one = SvmOptions::First::one;

}  // namespace

TEST_CASE("svmlight: related files count their features from the same number") {
  const TemporaryFolder folder;
  const auto file = [&](const char* name, const char* text) {
    write_bytes(folder / name, text);
    return (folder / name).string();
  };
  const auto zero_based = file("zero.svm", "1 2:5\n# 0:1\n-1 +0:2 1:1\n"),
             without = file("without.libsvm", "1 1:0.5\n0 10:1 20:3\n");
  const auto also_without = file("also.svmlight", "0 qid:0 3:1\r\n0 1:2 # 0:1"),
             array = file("x.npy", "");
  using Sources = std::vector<std::string>;
  CHECK(with_common_features({zero_based, without, array}) ==
        Sources{zero_based + ":from-0", without + ":from-0", array});
  CHECK(with_common_features({without + "[0:1]", zero_based}) ==
        Sources{without + ":from-0[0:1]", zero_based + ":from-0"});
  CHECK(with_common_features({without, also_without}) == Sources{without, also_without});
  CHECK(with_common_features({zero_based, without + ":labels"}) ==
        Sources{zero_based, without + ":labels"});
  CHECK(with_common_features({zero_based, without + ":from-1"}) ==
        Sources{zero_based, without + ":from-1"});
  CHECK(with_common_features({without + ":from-0", also_without, array}) ==
        Sources{without + ":from-0", also_without + ":from-0", array});
  CHECK(with_common_features({zero_based, zero_based + "[0:1]"}) ==
        Sources{zero_based, zero_based + "[0:1]"});
  CHECK(load_array(with_common_features({without, zero_based})[0]).to_string() ==
        "csr float32 [2, 21], 3 stored  (0, 1) 0.5 (1, 10) 1 (1, 20) 3");
  CHECK(failure_of([&] {
          with_common_features({without, (folder / "none.svm").string()});
        }).kind == 4);
}

TEST_CASE("svmlight: examples as svmlight and libsvm write them") {
  const TemporaryFolder folder;
  const struct {
    const char* text;
    SvmOptions options;
    const char *features, *labels;
  } cases[] = {
      {"1 1:0.5 3:2\n-1 2:1e-3\n",
       {},
       "csr float32 [2, 3], 3 stored  (0, 0) 0.5 (0, 2) 2 (1, 1) 0.001",
       "float64 [2]  1 -1"},
      {"+1 0:0.5 3:2\n0\n2.5 1:-1",
       {},
       "csr float32 [3, 4], 3 stored  (0, 0) 0.5 (0, 3) 2 (2, 1) -1",
       "float64 [3]  1 0 2.5"},
      {"1 1:1", {.first = zero}, "csr float32 [1, 2], 1 stored  (0, 1) 1", "float64 [1]  1"},
      {"1 1:1", {.first = one}, "csr float32 [1, 1], 1 stored  (0, 0) 1", "float64 [1]  1"},
      {"1 1:1\n0 3:4\n",
       {.columns = 3},
       "csr float32 [2, 3], 2 stored  (0, 0) 1 (1, 2) 4",
       "float64 [2]  1 0"},
      {"1 1:1\n0 3:4\n",
       {.columns = 9},
       "csr float32 [2, 9], 2 stored  (0, 0) 1 (1, 2) 4",
       "float64 [2]  1 0"},
      {"# a comment\n\n \t\n1 qid:7 1:1 # 2:2\r\n2\t2:+4\t\r\n",
       {},
       "csr float32 [2, 2], 2 stored  (0, 0) 1 (1, 1) 4",
       "float64 [2]  1 2"},
      {"", {}, "csr float32 [0, 0], 0 stored", "float64 [0]"},
      {"7\n8\n", {}, "csr float32 [2, 0], 0 stored", "float64 [2]  7 8"},
      {"7 2:0\n", {}, "csr float32 [1, 2], 1 stored  (0, 1) 0", "float64 [1]  7"},
      {"nan 1:inf 2:-inf",
       {},
       "csr float32 [1, 2], 2 stored  (0, 0) inf (0, 1) -inf",
       "float64 [1]  nan"},
      {"1 1:0.1", {.dtype = f64}, "csr float64 [1, 1], 1 stored  (0, 0) 0.1", "float64 [1]  1"},
      {"1 1:1e300",
       {.dtype = f64},
       "csr float64 [1, 1], 1 stored  (0, 0) 1e+300",
       "float64 [1]  1"},
      {"1 1:0.1",
       {.dtype = f16},
       "csr float16 [1, 1], 1 stored  (0, 0) 0.099975586",
       "float64 [1]  1"},
      {"1 1:3", {.dtype = bf16}, "csr bfloat16 [1, 1], 1 stored  (0, 0) 3", "float64 [1]  1"},
      {"1 1099511627776:2",
       {},
       "csr float32 [1, 1099511627776], 1 stored  (0, 1099511627775) 2",
       "float64 [1]  1"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.text);
    write_bytes(folder / "x.svm", test.text);
    const SvmExamples examples = read_svmlight(folder / "x.svm", test.options);
    CHECK(examples.features.to_string() == test.features);
    CHECK(examples.labels.to_string() == test.labels);
  }
}

TEST_CASE("svmlight: faulty lines are named") {
  const TemporaryFolder folder;
  const std::string path = (folder / "x.svm").string();
  const struct {
    const char* text;
    SvmOptions options;
    const char* reason;
  } cases[] = {
      {"1 1:1\nx 1:1\n", {}, "line 2: the label 'x' is not a number"},
      {"1:1 2:1\n", {}, "line 1: the label '1:1' is not a number"},
      {"+-1 2:1\n", {}, "line 1: the label '+-1' is not a number"},
      {"1,2 2:1\n", {}, "line 1: the label '1,2' is not a number"},
      {"1 1:1\n\n# x\n1 2\n", {}, "line 4: '2' has no colon"},
      {"1 1:1 1:2\n", {}, "line 1: feature 1 follows feature 1: they must be strictly increasing"},
      {"1 4:1 2:2\n", {}, "line 1: feature 2 follows feature 4: they must be strictly increasing"},
      {"1 a:1\n", {}, "line 1: 'a:1' does not begin with a feature number"},
      {"1 :1\n", {}, "line 1: ':1' does not begin with a feature number"},
      {"1 -1:1\n", {}, "line 1: '-1:1' does not begin with a feature number"},
      {"1 1.5:1\n", {}, "line 1: '1.5:1' does not begin with a feature number"},
      {"1 9223372036854775807:1\n",
       {},
       "line 1: '9223372036854775807:1' has a feature number that does not fit 64 bits"},
      {"1 99999999999999999999:1\n",
       {},
       "line 1: '99999999999999999999:1' has a feature number that does not fit 64 bits"},
      {"1 1:\n", {}, "line 1: the value '' is not a number"},
      {"1 1:2x\n", {}, "line 1: the value '2x' is not a number"},
      {"1 1:2 2:qid\n", {}, "line 1: the value 'qid' is not a number"},
      {"1 1:1e999\n", {}, "line 1: the value '1e999' is out of the range of float64"},
      {"1 1:1e39\n", {}, "line 1: the value of '1:1e39' does not fit float32"},
      {"1 1:70000\n", {.dtype = f16}, "line 1: the value of '1:70000' does not fit float16"},
      {"1 \x1b[2J:1\n", {}, "line 1: '\\x1b[2J:1' does not begin with a feature number"},
      {"1 0:1\n",
       {.first = one},
       "line 1: found feature 0, but features are declared to count from 1"},
      {"1 1:1\n1 4:1\n1 4:1\n",
       {.columns = 3},
       "line 2: found feature 4, but the input has 3 features, counted from 1"},
      {"1 0:1\n1 3:1\n",
       {.columns = 3},
       "line 2: found feature 3, but the input has 3 features, counted from 0"},
      {"1 1:1\n1 3:1\n",
       {.first = zero, .columns = 3},
       "line 2: found feature 3, but the input has 3 features, counted from 0"},
      {"1 9223372036854775806:1\n1\n",
       {},
       "a tensor of float32 [2, 9223372036854775806] has more bytes than can be counted"},
  };
  for (const auto& test : cases) {
    write_bytes(path, test.text);
    const FailureText failure = failure_of([&] { read_svmlight(path, test.options); });
    CHECK(failure.kind == 4);
    CHECK(failure.message == "cannot read " + path + ": " + test.reason);
  }
  CHECK(failure_of([&] { read_svmlight(folder / "no.svm"); }).message ==
        "cannot read " + (folder / "no.svm").string() + ": there is no such file");
  CHECK(failure_of([&] { read_svmlight(path, {.dtype = i32}); }).kind == 2);
  CHECK(automatic == SvmOptions().first);
}

TEST_CASE("svmlight: any text is read or refused") {
  const TemporaryFolder folder;
  const std::string sound = "1 1:0.5 3:2 # x\n-1 qid:3 2:1e-3\r\n+7 1:inf 2:-4 900:1\n";
  constexpr std::string_view letters("0123456789:.+-eE# \t\r\n\0\xffnaif", 27);
  std::mt19937 random(4);
  int read = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = sound;
    for (unsigned changes = random() % 4; changes-- > 0;) {
      const auto at = random() % text.size();
      if (random() % 3 == 0)
        text.insert(at, 1, letters[random() % letters.size()]);
      else
        text[at] = letters[random() % letters.size()];
    }
    write_bytes(folder / "x.svm", text);
    const FailureText failure = failure_of([&] {
      const SvmExamples examples = read_svmlight(folder / "x.svm");
      REQUIRE(examples.features.shape()[0] == examples.labels.size());
    });
    REQUIRE((failure.kind == 0 || failure.kind == 4));
    ++(failure.kind == 0 ? read : refused);
  }
  CHECK(read > 500);
  CHECK(refused > 500);
}
