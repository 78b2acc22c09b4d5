// dft on every device: the discrete Fourier transform along one axis, in double.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>

#include "shared/axis.hpp"

/// The lines that are transformed, and how data and output have them.
struct DftLines {
  std::int64_t size, used;    ///< numbers of a line, and how many of them data gives
  std::int64_t outer, inner;  ///< lines before and behind the axis
  std::int64_t in, out;       ///< along the axis
  std::int64_t in_parts, out_parts;
  bool mirrored;  ///< data is a half of which the other numbers are mirror images
  double scale;

  TENON_FN std::int64_t count() const { return outer * inner; }
  /// Where number n of a line is in a tensor with so many numbers along the axis.
  TENON_FN std::int64_t at(std::int64_t line, std::int64_t n, std::int64_t length, std::int64_t parts) const {
    return ((line / inner * length + n) * inner + line % inner) * parts;
  }
  /// Of a mirrored half, the first number and, of an even size, the middle one count once, and are real.
  TENON_FN bool twice(std::int64_t n) const { return n > 0 && 2 * n != size; }
};

struct DftShapes : tenon::Operator {
  std::int64_t length = 0;
  std::int32_t axis = -2;
  bool inverse = false, onesided = false;

  static constexpr void describe(auto& op) {
    op.doc("discrete Fourier transform along one axis of real or complex numbers, whose parts are the last axis");
    op.input("data", "[any axes ..., 1 or 2]: the real part, and the imaginary one");
    op.input("lengths", "length, as a tensor of one element").optional().on_cpu().types({tenon::i64});
    op.output("output", "data's shape with length (onesided: length / 2 + 1) along axis and 2 parts; 1 part if inverse and onesided");
    op.param("length", &DftShapes::length,
             "numbers that are transformed: data is cut off or continued by zeros; 0: all of data, 2 (all - 1) if inverse and onesided")
        .at_least(0);
    op.param("axis", &DftShapes::axis, "along which it transforms, not the last one; negative axes count from the end")
        .at_least(-8)
        .at_most(7);
    op.param("inverse", &DftShapes::inverse, "the inverse transform, divided by length");
    op.param("onesided", &DftShapes::onesided,
             "the first half of frequencies alone, of which the others are mirror images: data is real, or output");
    op.backward_reads("lengths");
    op.linear("data");
    op.example({{"data", {2, 5, 1}}});
    op.example({{"data", {2, 4, 2}}}, {{"inverse", true}, {"onesided", true}});
    op.onnx("", "DFT")
        .since(17)
        .until(19)
        .inputs("data", "lengths")
        .attribute("axis", "axis", 1)
        .attribute("inverse", "inverse")
        .attribute("onesided", "onesided");
    op.onnx("", "DFT")
        .since(20)
        .inputs("data", "lengths")
        .input_as("axis", 2)
        .attribute("inverse", "inverse")
        .attribute("onesided", "onesided");
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input("data").shape;
    if (io.has_input("lengths")) io.require(length == 0, "has both length and lengths: needs one of them");
    const auto given = io.has_input("lengths") ? io.values<std::int64_t>("lengths") : tenon::Known<std::int64_t>();
    io.require(!given || given.size() == 1, "lengths has ", given.size(), " elements: needs one");
    if (!data.has_rank()) return;
    const int rank = data.rank();
    io.require(rank >= 2, "data is ", data, " but needs the axis and the parts");
    io.require(axis >= -rank && axis < rank && axis != -1 && axis != rank - 1, "axis is ", axis, " but data is ", data,
               ": needs another one than the last");
    io.require(data[-1] == tenon::unknown || data[-1] == 1 || data[-1] == 2, "data is ", data, ": its last axis has 1 or 2 elements");
    io.require(!onesided || inverse || data[-1] != 2, "data ", data, " is complex, but a onesided transform needs real numbers");
    const int along = axis < 0 ? axis + rank : axis;
    auto output = data;
    output.set(rank - 1, inverse && onesided ? 1 : 2);
    const bool unknown = data[along] == tenon::unknown || (io.has_input("lengths") && !given);
    const auto size = unknown ? tenon::unknown : count(data[along], given ? given[0] : length);
    io.require(unknown || (size > 0 && size <= 1 << 24), "data ", data, " gives ", size, " numbers to transform: needs at least one");
    output.set(along, unknown ? tenon::unknown : onesided && !inverse ? size / 2 + 1 : size);
    io.set_output(0, output);
  }

 protected:
  DftLines lines_of(const tenon::Shape& data, const tenon::Shape& output, std::int64_t given) const {
    const auto along = Axis::of(tenon::Shape(data.begin(), data.rank() - 1), axis < 0 ? axis + data.rank() : axis);
    const auto in = along.length, size = count(in, given), out = output[axis];
    return {size,
            std::min(in, onesided && inverse ? size / 2 + 1 : size),
            along.outer,
            along.inner,
            in,
            out,
            data[-1],
            output[-1],
            onesided && inverse,
            inverse ? 1 / static_cast<double>(size) : 1};
  }
  DftLines lines_of(const tenon::Call& call) const {
    return lines_of(call.input_type(0).shape, call.output_type(0).shape,
                    call.has_input("lengths") ? call.input<std::int64_t>("lengths")[0] : length);
  }

 private:
  std::int64_t count(std::int64_t all, std::int64_t given) const { return given > 0 ? given : inverse && onesided ? 2 * (all - 1) : all; }
};
