// dft for all devices: the discrete Fourier transform along one axis, in double.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>

#include "shared/axis.hpp"

/// The lines to transform, and their layout in data and output.
struct DftLines {
  std::int64_t size, used;    ///< size of a line, and number of elements that data provides
  std::int64_t outer, inner;  ///< sizes before and after the axis
  std::int64_t in, out;       ///< sizes along the axis
  std::int64_t in_components, out_components;
  bool mirrored;  ///< data is the first half of a line with conjugate symmetry
  double scale;

  TENON_FN std::int64_t count() const { return outer * inner; }
  /// Index of element n of a line in a tensor with `length` elements along the axis.
  TENON_FN std::int64_t at(std::int64_t line, std::int64_t n, std::int64_t length,
                           std::int64_t components) const {
    return ((line / inner * length + n) * inner + line % inner) * components;
  }
  /// In a half with conjugate symmetry, the first element and, for even sizes, the middle one count
  /// once, and are real.
  TENON_FN bool twice(std::int64_t n) const { return n > 0 && 2 * n != size; }
};

struct DftShapes : tenon::Operator {
  std::int64_t length = 0;
  std::int32_t axis = -2;
  bool inverse = false, onesided = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "discrete Fourier transform along `axis` of real or complex numbers, whose real and "
        "imaginary parts are along the last axis");
    op.input(
        "data",
        "[..., 1 or 2]; the last axis holds the real part, or the real and the imaginary part");
    op.input("lengths", "one element; replaces the parameter `length`")
        .optional()
        .on_cpu()
        .types({tenon::i64});
    op.output(
        "output",
        "data's shape with size `length` along `axis` (`length` / 2 + 1 if `onesided` is set and "
        "`inverse` is not), and with last size 2 (1 if `inverse` and `onesided` are set)");
    op.param("length", &DftShapes::length,
             "length of the transform, to which data is truncated or zero-padded; 0: size of data "
             "along `axis`, or 2 * (size - 1) if `inverse` and `onesided` are set")
        .at_least(0);
    op.param("axis", &DftShapes::axis,
             "axis of the transform, not the last one; negative axes count from the end")
        .at_least(-8)
        .at_most(7);
    op.param("inverse", &DftShapes::inverse, "inverse transform, scaled by 1 / length");
    op.param("onesided", &DftShapes::onesided,
             "output only the first length / 2 + 1 frequencies of a real signal, as the others are "
             "their complex conjugates; with `inverse`: data has only these frequencies, and "
             "output is real");
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
    if (io.has_input("lengths"))
      io.require(length == 0, "has both length and lengths: needs only one of them");
    const auto requested =
        io.has_input("lengths") ? io.values<std::int64_t>("lengths") : tenon::Known<std::int64_t>();
    io.require(!requested || requested.size() == 1, "lengths has ", requested.size(),
               " elements: needs one");
    if (!data.has_rank()) return;
    const int rank = data.rank();
    io.require(rank >= 2, "data is ", data,
               " but needs at least two dimensions, the last one for real and imaginary parts");
    io.require(axis >= -rank && axis < rank && axis != -1 && axis != rank - 1, "axis is ", axis,
               " but data is ", data, ": needs an axis other than the last one");
    io.require(data[-1] == tenon::unknown || data[-1] == 1 || data[-1] == 2, "data is ", data,
               " but needs a last axis of size 1 (real) or 2 (real and imaginary part)");
    io.require(!onesided || inverse || data[-1] != 2, "data ", data,
               " is complex, but a onesided transform needs real numbers");
    const int along = axis < 0 ? axis + rank : axis;
    auto output = data;
    output.set(rank - 1, inverse && onesided ? 1 : 2);
    const bool unknown = data[along] == tenon::unknown || (io.has_input("lengths") && !requested);
    const auto size =
        unknown ? tenon::unknown : count(data[along], requested ? requested[0] : length);
    io.require(unknown || (size > 0 && size <= 1 << 24), "data ", data, " gives ", size,
               " elements to transform: needs 1 to 16777216");
    output.set(along, unknown ? tenon::unknown : onesided && !inverse ? size / 2 + 1 : size);
    io.set_output(0, output);
  }

 protected:
  DftLines lines_of(const tenon::Shape& data, const tenon::Shape& output,
                    std::int64_t requested) const {
    const auto along =
        Axis::of(tenon::Shape(data.begin(), data.rank() - 1), axis < 0 ? axis + data.rank() : axis);
    const auto in = along.length, size = count(in, requested), out = output[axis];
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

  /// The size of a line; 0 if it depends on the elements of lengths.
  std::int64_t size_of(const tenon::Infer& io) const {
    const auto data = io.input("data").shape;
    const int along = axis < 0 ? axis + data.rank() : axis;
    if (!io.has_input("lengths")) return count(data[along], length);
    return onesided && !inverse ? 0 : io.output(0).shape[along];
  }

 private:
  std::int64_t count(std::int64_t all, std::int64_t requested) const {
    return requested > 0 ? requested : inverse && onesided ? 2 * (all - 1) : all;
  }
};
