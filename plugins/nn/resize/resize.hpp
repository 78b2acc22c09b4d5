// Resizing along any axes.
#pragma once
#include <array>
#include <tenon/operator.hpp>

#include "resize_axis.hpp"

enum class Aspect { stretch, not_larger, not_smaller };

struct Resize : tenon::Operator {
  tenon::Ints size, axes;
  tenon::Floats scale, region;
  resizing::Method method = resizing::Method::nearest;
  resizing::Coordinates coordinates = resizing::Coordinates::half_pixel;
  resizing::Rounding rounding = resizing::Rounding::prefer_floor;
  Aspect aspect = Aspect::stretch;
  bool antialias = false, exclude_outside = false;
  double cubic_coefficient = -0.75, extrapolation_value = 0;

  static constexpr void describe(auto& op) {
    using resizing::Method, resizing::Coordinates, resizing::Rounding;
    op.doc(
        "data resized along some axes: each output element is the nearest element of data, or a "
        "weighted sum of its neighbors");
    op.types(tenon::any_real);
    op.input("data", "any shape");
    op.input("sizes", "[n], one size for each of the n `axes`; replaces the parameter `size`")
        .optional()
        .on_cpu()
        .types({tenon::i64});
    op.input("scales", "[n], one scale for each of the n `axes`; replaces the parameter `scale`")
        .optional()
        .on_cpu()
        .types({tenon::f32});
    op.input("roi", "[2 * n]; replaces the parameter `region`")
        .optional()
        .on_cpu()
        .types({tenon::f32});
    op.output("output", "data's shape with new sizes along `axes`");
    op.param("size", &Resize::size, "size of output along each of `axes`").at_least(0);
    op.param("scale", &Resize::scale,
             "output size divided by data's size along each of `axes`; output sizes are rounded "
             "down; replaces `size`")
        .greater_than(0);
    op.param("axes", &Resize::axes,
             "axes to resize; negative axes count from the end; default: all axes")
        .at_least(-8)
        .at_most(7);
    op.param("method", &Resize::method,
             "interpolation: nearest, linear (two elements per axis) or cubic (four elements per "
             "axis)")
        .one_of(
            {{"nearest", Method::nearest}, {"linear", Method::linear}, {"cubic", Method::cubic}});
    op.param("coordinates", &Resize::coordinates,
             "mapping of output coordinates to data coordinates, named as in ONNX")
        .one_of({{"half_pixel", Coordinates::half_pixel},
                 {"half_pixel_symmetric", Coordinates::half_pixel_symmetric},
                 {"pytorch_half_pixel", Coordinates::pytorch_half_pixel},
                 {"align_corners", Coordinates::align_corners},
                 {"asymmetric", Coordinates::asymmetric},
                 {"tf_half_pixel_for_nn", Coordinates::tf_half_pixel_for_nn},
                 {"tf_crop_and_resize", Coordinates::tf_crop_and_resize}});
    op.param("rounding", &Resize::rounding,
             "rounding of coordinates for method nearest; round_prefer_floor: halves down; "
             "round_prefer_ceil: halves up")
        .one_of({{"round_prefer_floor", Rounding::prefer_floor},
                 {"round_prefer_ceil", Rounding::prefer_ceil},
                 {"floor", Rounding::floor},
                 {"ceil", Rounding::ceil}});
    op.param("aspect", &Resize::aspect,
             "stretch: use `size` as is; not_larger, not_smaller: keep the aspect ratio, so that "
             "no axis is larger (not_larger) or smaller (not_smaller) than `size`")
        .one_of({{"stretch", Aspect::stretch},
                 {"not_larger", Aspect::not_larger},
                 {"not_smaller", Aspect::not_smaller}});
    op.param("antialias", &Resize::antialias,
             "antialiasing: widen the interpolation kernel along axes that shrink; not for method "
             "nearest");
    op.param("exclude_outside", &Resize::exclude_outside,
             "weight of elements outside of data is 0, and the other weights are normalized to sum "
             "1; false: the elements at the edges are repeated");
    op.param("cubic_coefficient", &Resize::cubic_coefficient,
             "coefficient a of the cubic convolution kernel (Keys), as in ONNX");
    op.param("region", &Resize::region,
             "crop region: start along each of `axes`, then end along each of `axes`, normalized "
             "to 0 for the first and 1 for the last element of data; only for coordinates "
             "tf_crop_and_resize");
    op.param(
        "extrapolation_value", &Resize::extrapolation_value,
        "output value at coordinates outside of data; only for coordinates tf_crop_and_resize");
    op.backward_reads("sizes", "scales", "roi");
    op.takes_channels_last("data", "output");
    op.example({{"data", {1, 2, 3, 4}}}, {{"scale", {1, 1, 2, 3}}, {"method", "linear"}});
    op.example({{"data", {1, 2, 5, 4}}},
               {{"size", {3, 7}}, {"axes", {2, 3}}, {"method", "cubic"}, {"antialias", true}});
    op.example({{"data", {2, 5}}, {"sizes", {2}, tenon::i64, {4, 4}}},
               {{"coordinates", "asymmetric"}});
    op.example({{"data", {5, 4}}}, {{"size", {4, 6}},
                                    {"method", "linear"},
                                    {"coordinates", "tf_crop_and_resize"},
                                    {"region", {0, 0, 2, 1}}});
    op.onnx("", "Resize")
        .since(11)
        .inputs("data", "roi", "scales", "sizes")
        .attribute("axes", "axes")
        .attribute("mode", "method")
        .attribute("coordinate_transformation_mode", "coordinates")
        .attribute("nearest_mode", "rounding")
        .attribute("keep_aspect_ratio_policy", "aspect")
        .attribute("antialias", "antialias")
        .attribute("exclude_outside", "exclude_outside")
        .attribute("cubic_coeff_a", "cubic_coefficient")
        .attribute("extrapolation_value", "extrapolation_value");
    describe_old(op.onnx("", "Resize").since(10).until(10).inputs("data", "scales"));
    describe_old(op.onnx("", "Upsample").since(9).until(9).inputs("data", "scales"));
    describe_old(
        op.onnx("", "Upsample").since(7).until(8).inputs("data").attribute("scales", "scale"));
  }

  /// The ONNX form of Resize before opset 11.
  static constexpr void describe_old(auto&& form) {
    form.attribute("mode", "method")
        .constant("coordinates", "asymmetric")
        .constant("rounding", "floor");
  }

  void infer(tenon::Infer& io) const;
  void forward(const tenon::Call& call) const;
  void backward(const tenon::Call& call) const;

  /// Sizes and scales from parameters or inputs.
  struct RequestedSizes {
    tenon::Ints size;
    tenon::Floats scale;
  };
  using AxisSizes = std::array<resizing::Sizes, 8>;
  /// Sizes of output's axes. Throws tenon::Error if the arguments are inconsistent.
  AxisSizes sizes_of(const tenon::Shape& data, const RequestedSizes& requested) const;
};
