// Algorithms chosen by the tables of products, convolutions, attention, pooling, reductions and
// dft, at the limits of their conditions and for processors other than this one.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../../../plugins/linalg/row_sums.hpp"
#include "../../../plugins/nn/attention/attention_choice.hpp"
#include "../../../plugins/nn/convolution/convolution_choice.hpp"
#include "../../../plugins/nn/pooling/pooling_choice.hpp"
#include "../../../plugins/nn/signal/dft_choice.hpp"
#include "../../../plugins/shared/reduction.hpp"

namespace kernel_choice {
namespace {

using product::Vectors;

constexpr product::Processor scalar{}, avx2{Vectors::avx2}, avx512{Vectors::avx512},
    bf16{Vectors::avx512, true}, amx{Vectors::avx512, true, true},
    vnni{Vectors::avx512, false, false, true};

struct Convolution {
  std::int64_t samples, channels, side, filters, kernel;
  product::Processor processor;
  bool last, rounds;
  std::string forward, data, weight;
  std::int64_t stride = 1, dilate = 1, groups = 1;
  int axes = 2;
  bool onednn_avx512 = true;
};

ConvolutionProblem problem_of(const Convolution& problem) {
  ConvolutionProblem made{{},
                          tenon::Shape::of_rank(problem.axes + 2),
                          tenon::Shape::of_rank(problem.axes + 2),
                          problem.groups,
                          problem.last,
                          problem.last,
                          problem.rounds,
                          problem.processor,
                          problem.onednn_avx512};
  made.window.axes = problem.axes;
  made.data.set(0, problem.samples), made.data.set(1, problem.channels);
  made.output.set(0, problem.samples), made.output.set(1, problem.filters);
  for (int axis = 0; axis < problem.axes; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    made.window.kernel[i] = problem.kernel, made.window.stride[i] = problem.stride,
    made.window.dilate[i] = problem.dilate;
    made.window.pad[i] = made.window.pad_end[i] = problem.dilate * (problem.kernel - 1) / 2;
    made.data.set(axis + 2, problem.side),
        made.output.set(axis + 2, made.window.output_size(axis, problem.side));
  }
  return made;
}

template <const auto& rows>
std::string name_of(const ConvolutionProblem& problem) {
  return choice::first_of<rows>(problem).name;
}

const char *const im2col = "im2col", *const col2im = "col2im",
                  *const winograd = "Winograd F(4x4, 3x3)",
                  *const implicit = "implicit GEMM by AMX", *const filters = "direct by filters",
                  *const rows = "direct by rows", *const samples = "direct by samples";

}  // namespace
}  // namespace kernel_choice

using namespace kernel_choice;

TEST_CASE("convolutions: the first row that holds is chosen, by sizes, layouts and the processor") {
  const Convolution cases[] = {
      // 16 x 16 weights times 9 for one position of 16 + 16 numbers: 2,304 > 4 x 32
      {1, 16, 1, 16, 3, avx512, true, false, im2col, col2im, im2col},
      {1, 4, 2, 4, 3, avx512, true, false, im2col, col2im, im2col},   // 144 weights > 4 x 32
      {1, 2, 2, 16, 3, avx512, true, false, rows, samples, samples},  // 288 = 4 x 72
      {1, 16, 1, 16, 3, scalar, true, false, rows, samples, samples},
      {32, 512, 1, 512, 3, avx2, true, false, im2col, col2im, im2col},    // 32 positions
      {33, 512, 1, 512, 3, avx2, true, false, filters, col2im, im2col},   // too many for forward
      {64, 512, 1, 512, 3, avx2, false, false, filters, col2im, im2col},  // 64 positions
      {65, 512, 1, 512, 3, avx2, false, false, filters, samples, filters},
      {128, 512, 1, 512, 3, amx, false, false, im2col, col2im, im2col},  // plain, with AMX
      {129, 512, 1, 512, 3, amx, false, false, filters, col2im, im2col},
      {128, 512, 1, 512, 3, amx, true, false, filters, col2im, im2col},
      {256, 1024, 1, 1024, 3, amx, true, false, filters, col2im, im2col},
      {257, 1024, 1, 1024, 3, amx, true, false, filters, samples, filters},
      {16, 512, 1, 512, 3, avx512, true, true, filters, samples,
       filters},  // bfloat16 needs hardware support
      {16, 512, 1, 512, 3, bf16, true, true, im2col, col2im, im2col},
      {0, 512, 2, 512, 3, avx512, true, false, filters, samples, samples},        // an empty batch
      {1, 512, 2, 512, 3, avx512, true, false, rows, samples, samples, 1, 1, 2},  // groups
      {1, 512, 9, 576, 3, avx512, true, false, rows, samples,
       filters},  // 576 is not a multiple of 128
      {1, 512, 9, 576, 3, avx512, true, false, filters, samples, filters, 1, 1, 1, 2, false},
      {1, 128, 24, 128, 3, avx512, false, false, rows, samples,
       samples},  // weights are as large as data and output
      {1, 128, 23, 128, 3, avx512, false, false, rows, samples, filters},
      // Winograd: 24 x 24 positions are 36 tiles per sample
      {1, 32, 24, 32, 3, avx2, true, false, winograd, samples, samples},
      {1, 32, 24, 32, 3, scalar, true, false, rows, samples, samples},
      {1, 32, 24, 32, 3, avx2, false, false, rows, samples, samples},
      {1, 16, 24, 32, 3, avx2, true, false, rows, samples, samples},
      {1, 40, 24, 32, 3, avx2, true, false, rows, samples, samples},
      {1, 32, 20, 32, 3, avx2, true, false, rows, samples, samples},        // 25 tiles
      {1, 128, 24, 144, 3, avx2, true, false, winograd, samples, filters},  // 18,432 = 512 x 36
      {1, 128, 24, 160, 3, avx2, true, false, rows, samples, filters},
      {1, 32, 24, 32, 5, avx2, true, false, rows, samples, samples},
      {1, 32, 48, 32, 3, avx2, true, false, rows, samples, samples, 2},
      {1, 32, 24, 32, 3, avx2, true, false, rows, samples, samples, 1, 2},
      {1, 32, 24, 32, 3, avx2, true, false, rows, samples, samples, 1, 1, 2},
      {1, 32, 24, 32, 3, avx2, true, false, rows, samples, samples, 1, 1, 1, 3},
      // AMX, in bfloat16
      {1, 32, 24, 32, 3, amx, true, true, implicit, samples, samples},
      {1, 32, 24, 32, 3, bf16, true, true, rows, samples, samples},
      {1, 32, 24, 32, 3, amx, true, false, winograd, samples, samples},
      {1, 32, 24, 32, 3, amx, false, true, rows, samples, samples},
      {1, 32, 24, 32, 3, amx, true, true, rows, samples, samples, 1, 2},
      {1, 3, 24, 32, 1, amx, true, true, rows, samples,
       samples},  // 3 of 32 numbers of a window: too little of a tile
  };
  for (const auto& each : cases) {
    const auto problem = kernel_choice::problem_of(each);
    CAPTURE(problem.data.size());
    CAPTURE(each.samples);
    CAPTURE(each.channels);
    CAPTURE(each.side);
    CAPTURE(each.filters);
    CAPTURE(static_cast<int>(each.processor.vectors));
    CAPTURE(each.processor.amx);
    CAPTURE(each.rounds);
    CHECK(name_of<convolution_choice::forward>(problem) == each.forward);
    CHECK(name_of<convolution_choice::data_gradient>(problem) == each.data);
    CHECK(name_of<convolution_choice::weight_gradient>(problem) == each.weight);
  }
}

TEST_CASE("convolutions along one axis: products of windows") {
  const struct {
    tenon::Shape data, output;
    Window::Numbers kernel;
    bool last;
    product::Processor processor = avx512;
    std::int64_t dilate = 1, groups = 1;
    bool rounds = false;
    const char* name = "products of windows";
  } cases[] = {
      {{1, 1, 900}, {1, 16, 837}, {64}, false},
      {{1, 1, 900}, {1, 16, 837}, {64}, false, avx2},
      {{1, 1, 900}, {1, 3, 837}, {64}, false},
      {{1, 1, 1, 900}, {1, 16, 1, 837}, {1, 64}, false},
      {{1, 1, 900, 1}, {1, 16, 837, 1}, {64, 1}, false},
      {{1, 32, 900, 1}, {1, 16, 896, 1}, {5, 1}, true},
      {{1, 1, 900}, {1, 16, 838}, {63}, false, avx512, 1, 1, false, rows},
      {{1, 1, 900}, {1, 15, 837}, {64}, false, avx512, 1, 1, false, rows},
      {{1, 1, 900}, {1, 4, 837}, {64}, false, avx512, 1, 1, false, rows},
      {{1, 1, 900}, {1, 3, 837}, {64}, false, avx2, 1, 1, false, rows},
      {{1, 1, 900}, {1, 16, 837}, {64}, false, scalar, 1, 1, false, rows},
      {{1, 1, 900}, {1, 16, 774}, {64}, false, avx512, 2, 1, false, rows},
      {{1, 1, 900}, {1, 16, 837}, {64}, false, bf16, 1, 1, true, rows},
      {{1, 2, 900}, {1, 16, 837}, {64}, true, avx512, 1, 2, false, rows},
      {{1, 1, 900, 2}, {1, 16, 837, 2}, {64, 1}, false, avx512, 1, 1, false, rows},
      {{1, 32, 900, 1}, {1, 16, 896, 1}, {5, 1}, false, avx512, 1, 1, false, rows},
      {{1, 32, 900, 1}, {1, 15, 896, 1}, {5, 1}, true, avx512, 1, 1, false, rows},
      {{1, 32, 1, 900}, {1, 16, 1, 896}, {1, 5}, true, avx512, 1, 1, false, rows},
      {{0, 1, 900}, {0, 16, 837}, {64}, false, avx512, 1, 1, false, rows},
  };
  for (const auto& each : cases) {
    ConvolutionProblem problem{{},        each.data,   each.output,    each.groups, each.last,
                               each.last, each.rounds, each.processor, true};
    problem.window.axes = each.data.rank() - 2;
    problem.window.kernel = each.kernel;
    problem.window.stride = {1, 1, 1};
    problem.window.dilate = {each.dilate, 1, 1};
    CAPTURE(each.data[2]);
    CAPTURE(each.output[1]);
    CAPTURE(each.kernel[0]);
    CHECK(std::string(name_of<convolution_choice::forward>(problem)) == each.name);
  }
}

TEST_CASE("direct convolutions: the code for a chunk depends on oneDNN's implementations") {
  const struct {
    StepProblem problem;
    const char* name;
  } cases[] = {
      {{2, 1, 16, 8, true, true, "jit:avx2"}, "small-filter loops by AVX2"},
      {{2, 1, 17, 8, true, true, "jit:avx2"}, "oneDNN, channels-last"},
      {{2, 2, 16, 8, true, true, "jit:avx2"}, "oneDNN, channels-last"},
      {{3, 1, 16, 8, true, true, "jit:avx2"}, "oneDNN, channels-last"},
      {{2, 1, 16, 8, false, true, "jit:avx2"}, "oneDNN, channels-last"},
      {{2, 1, 16, 8, true, true, "jit:avx512_core"}, "oneDNN, channels-last"},
      {{2, 1, 16, 8, true, true, "ref:any"}, "oneDNN, its own layout"},
      {{2, 1, 16, 8, true, true, ""}, "oneDNN, its own layout"},
  };
  for (const auto& each : cases)
    CHECK(std::string(choice::first_of<convolution_choice::step>(each.problem).name) == each.name);
  CHECK(convolution_choice::prefers_channels_last(true, false, 4));
  CHECK_FALSE(convolution_choice::prefers_channels_last(true, true, 3));
  CHECK_FALSE(convolution_choice::prefers_channels_last(false, false, 4));
}

TEST_CASE("products of im2col: few rows are not split, and unpacked weights stay on the left") {
  const struct {
    Im2colProblem problem;
    const char* name;
  } cases[] = {
      {{63, false, true, true, false}, "FMA"},
      {{63, false, true, false, true}, "FMA"},
      {{63, false, false, false, false}, "FMA"},
      {{63, false, true, false, false}, "FMA, weights on the left"},
      {{64, false, true, false, false}, "as products of float32"},
      {{63, true, true, false, false}, "bf16"},
      {{64, true, false, true, true}, "bf16"},
  };
  for (const auto& each : cases)
    CHECK(std::string(choice::first_of<convolution_choice::im2col>(each.problem).name) ==
          each.name);
}

TEST_CASE("products: the first row that holds is chosen, by arithmetic, size and processor") {
  using product::Multiplies;
  const struct {
    Multiplies multiplies;
    product::Size size;
    product::Processor processor;
    const char* name;
  } cases[] = {
      {Multiplies::f32, {32, 96, 64}, amx, "bf16x3 split by AMX"},
      {Multiplies::f32, {31, 96, 64}, amx, "FMA by AVX-512"},
      {Multiplies::f32, {32, 95, 64}, amx, "FMA by AVX-512"},
      {Multiplies::f32, {32, 96, 63}, amx, "FMA by AVX-512"},
      {Multiplies::f32, {200, 300, 500}, bf16, "FMA by AVX-512"},
      {Multiplies::f32, {200, 300, 500}, avx512, "FMA by AVX-512"},
      {Multiplies::f32, {200, 300, 500}, avx2, "FMA by AVX2"},
      {Multiplies::f32, {200, 300, 500}, scalar, "scalar"},
      {Multiplies::fma, {200, 300, 500}, amx, "FMA by AVX-512"},
      {Multiplies::bf16, {1, 1, 1}, amx, "bf16 by AMX"},
      {Multiplies::bf16, {200, 300, 500}, bf16, "bf16 by AVX512-BF16"},
      {Multiplies::bf16, {200, 300, 500}, avx512, "FMA by AVX-512"},
      {Multiplies::f64, {200, 300, 500}, amx, "OpenBLAS dgemm"},
      {Multiplies::complex, {200, 300, 500}, amx, "loops"},
      {Multiplies::int8, {1, 1, 1}, vnni, "int8 by AVX512-VNNI"},
      {Multiplies::int8, {200, 300, 500}, avx512, "int8 in 16-bit pairs by AVX2"},
      {Multiplies::int8, {200, 300, 500}, avx2, "int8 in 16-bit pairs by AVX2"},
      {Multiplies::int8, {200, 300, 500}, scalar, "int8 in 16-bit pairs"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.name);
    CHECK(std::string(product::choose({each.multiplies, each.size, each.processor}).name) ==
          each.name);
  }
}

TEST_CASE("operands of matmul: a vector on the right is multiplied by the transposed matrix") {
  const struct {
    product::OperandProblem problem;
    bool swapped;
  } cases[] = {
      {{true, {2, 1, 8}, false}, true},  {{true, {2, 1, 8}, true}, false},
      {{true, {1, 1, 8}, false}, false}, {{true, {2, 2, 8}, false}, false},
      {{true, {2, 1, 0}, false}, true},  {{false, {2, 1, 8}, false}, false},
  };
  for (const auto& each : cases) {
    CAPTURE(each.problem.size.rows);
    CAPTURE(each.problem.size.columns);
    CHECK(std::string(product::choose_operands(each.problem).name) ==
          (each.swapped ? "vector times transposed matrix" : "left times right"));
  }
}

TEST_CASE("attention: float64 is multiplied by loops, other dtypes by FMA") {
  const std::string loops = "loops: float64";
  const auto fma = choice::text_of(product::choose(product::Multiplies::fma));
  CHECK(attention_algorithm(tenon::f64) == loops);
  for (const auto dtype : {tenon::f32, tenon::f16, tenon::bf16})
    CHECK(attention_algorithm(dtype) == fma);
  CHECK(fma != loops);
}

TEST_CASE("reductions: by rows or columns as the innermost axis says, few results in segments") {
  const struct {
    tenon::Shape x;
    unsigned reduced;  ///< bit mask of axes
    const char* name;
    bool has_scratch = true;
  } cases[] = {
      {{4, 5}, 0b10, "rows"},
      {{4, 5}, 0b11, "rows"},
      {{4, 5}, 0b01, "columns"},
      {{4, 5, 1}, 0b010, "rows"},  // axes of one element do not count
      {{4, 5, 1}, 0b101, "columns"},
      {{1, 1}, 0b11, "columns"},
      {{4, 5}, 0, "columns"},
      {{131072}, 0b1, "rows in segments"},
      {{131072}, 0b1, "rows", false},
      {{131071}, 0b1, "rows"},
      {{15, 10000}, 0b10, "rows in segments"},
      {{16, 10000}, 0b10, "rows"},
      {{2, 256, 1000}, 0b101, "rows"},
      {{2, 8, 10000}, 0b101, "rows in segments"},
      {{131072, 1, 1}, 0b001, "rows in segments"},
      {{512, 256}, 0b01, "columns in segments"},
      {{512, 256}, 0b01, "columns", false},
      {{511, 256}, 0b01, "columns"},
      {{100, 3840}, 0b01, "columns in segments"},  // 15 groups of 256
      {{100, 3841}, 0b01, "columns"},
      {{15, 1000, 256}, 0b010, "columns in segments"},
      {{8, 1000, 257}, 0b010, "columns"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.x.size());
    CAPTURE(each.reduced);
    CAPTURE(each.has_scratch);
    const ReductionTiling tiling(each.x, each.reduced);
    const auto& row = choose_reduction(tiling, each.x.size(), each.has_scratch);
    CHECK(std::string(row.name) == each.name);
    CHECK(reduction_choice::by_rows(row.algorithm) == tiling.inner_reduced());
    // several segments exactly where the table says so
    CHECK((segments_for(tiling, each.x.size(), each.has_scratch) > 1) ==
          reduction_choice::in_segments(row.algorithm));
  }
}

TEST_CASE("pooling: loops compute what neither oneDNN nor the sliding maximum supports") {
  for (int bits = 0; bits < 16; ++bits) {
    const PoolingProblem problem{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                                 (bits & 8) != 0};
    CAPTURE(bits);
    const std::string expected = bits == 15                ? "maximum along rows, then columns"
                                 : bits == 5 || bits == 13 ? "oneDNN"
                                                           : "loops";
    CHECK(expected == choice::first_of<pooling_choices>(problem).name);
  }
}

TEST_CASE("pooling by oneDNN: rows of large channels-last data are chunks") {
  const auto name = [](bool channels_last, std::int64_t elements) {
    const PoolingChunkProblem problem{channels_last, elements};
    return std::string(choice::first_of<pooling_chunk_choices>(problem).name);
  };
  CHECK(name(true, (1 << 18) + 1) == "rows of samples");
  CHECK(name(true, 1 << 18) == "whole samples");
  CHECK(name(false, 1 << 30) == "whole samples");
}

#if defined(TENON_WIDE_LEVELS)
TEST_CASE("sums of rows: the vectors are limited as those of other kernels, with the same sums") {
  using tenon::detail::VectorLevel;
  const auto found = tenon::detail::usable_vector_level();
  const std::int64_t starts[] = {0, 2, 3}, columns_of[] = {0, 1, 1};
  const float values[] = {2, 3, 4};
  std::vector<float> dense(2 * 75), expected(2 * 75);
  for (std::size_t column = 0; column < 75; ++column) {
    const auto first = dense[column] = static_cast<float>(column);
    const auto second = dense[75 + column] = static_cast<float>(2 * column);
    expected[column] = 2 * first + 3 * second, expected[75 + column] = 4 * second;
  }
  for (const auto level : {VectorLevel::plain, VectorLevel::v3, VectorLevel::v4}) {
    if (level > found) continue;
    tenon::detail::vector_level.store(level);
    std::vector<float> sums(2 * 75);
    const auto run = sparse::best_sum_rows<float>();
    run({{starts, columns_of, values}, dense.data(), 75, 75, sums.data(), 75, nullptr}, 0, 2);
    tenon::detail::vector_level.store(found);
    CHECK(sums == expected);
    const auto plain = sparse::sum_rows_plain<float, sparse::CsrTerms<float>>;
    CHECK((run == plain) == (level == VectorLevel::plain));
  }
}
#endif

TEST_CASE("dft: powers of two by the radix-2 FFT") {
  for (const std::int64_t size : {1, 2, 4, 1 << 24})
    CHECK(choice::first_of<dft_choices>(DftProblem{size}).algorithm == DftAlgorithm::radix_2);
  for (const std::int64_t size : {3, 6, (1 << 24) - 1})
    CHECK(choice::first_of<dft_choices>(DftProblem{size}).algorithm == DftAlgorithm::bluestein);
}

TEST_CASE("plugins/README.md lists the current tables") {
  std::ifstream file(TENON_TEST_SOURCE "/plugins/README.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const auto shows = [&](const char* title, const auto& table) {
    std::string text = std::string("### ") + title +
                       "\n\n| algorithm | if | measured | bits |\n| --- | --- | --- | --- |\n";
    for (const auto& row : table)
      text += std::string("| ") + row.name + " | " + row.reason + " | " +
              (*row.gain ? row.gain : "-") + " | " + row.bits + " |\n";
    INFO("plugins/README.md lacks:\n" << text);
    CHECK(page.find(text) != std::string::npos);
  };
  shows("Convolution, forward", convolution_choice::forward);
  shows("Convolution, gradient of data", convolution_choice::data_gradient);
  shows("Convolution, gradient of weight and bias", convolution_choice::weight_gradient);
  shows("Chunks of a direct convolution", convolution_choice::step);
  shows("Products of im2col", convolution_choice::im2col);
  shows("Products of matrices", product::product_choices);
  shows("Operands of matmul", product::operand_choices);
  shows("Attention", attention_choices);
  shows("Pooling", pooling_choices);
  shows("Chunks of pooling by oneDNN", pooling_chunk_choices);
  shows("Reductions", reduction_choices);
  shows("Fourier transforms", dft_choices);
}
