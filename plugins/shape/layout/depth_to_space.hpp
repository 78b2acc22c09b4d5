// depth_to_space and space_to_depth: move elements between channels and spatial blocks.
#pragma once
#include "../../shared/bytes.hpp"
#include "shared/box_copy.hpp"

enum class DepthOrder : std::uint8_t { dcr, crd };

struct BlocksOfPixels : tenon::Operator {
  std::int64_t block = 1;
  DepthOrder mode = DepthOrder::dcr;

 protected:
  static constexpr void describe_blocks(auto& op) {
    op.types(tenon::storable);
    op.linear("x");
    op.param("block", &BlocksOfPixels::block, "height and width of a block, in elements")
        .required()
        .at_least(1);
    op.param("mode", &BlocksOfPixels::mode,
             "channel order, as in ONNX: dcr (depth, column, row) or crd (column, row, depth)")
        .one_of({{"dcr", DepthOrder::dcr}, {"crd", DepthOrder::crd}});
    op.backward_reads();
  }

  /// The shape of the result: of depth_to_space if to_space, otherwise of space_to_depth.
  tenon::Shape moved(const tenon::Infer& io, const tenon::Shape& x, bool to_space) const {
    if (!x.has_rank()) return tenon::Shape::of_rank(4);
    io.require(x.rank() == 4, "x is ", x, ", but needs [batch, channels, height, width]");
    std::int64_t area = 0;
    if (__builtin_mul_overflow(block, block, &area))
      io.param_error("block", "is ", block, ", which is too large");
    auto y = x;
    for (int a = 1; a < 4; ++a) {
      if (x[a] == tenon::unknown) continue;
      const auto factor = a == 1 ? area : block;
      std::int64_t size = 0;
      const bool shrinks = (a == 1) == to_space;
      io.require(!shrinks || x[a] % factor == 0, "x is ", x, ", but the size of axis ", a,
                 " needs to be a multiple of ", factor);
      io.require(shrinks || !__builtin_mul_overflow(x[a], factor, &size), "x is ", x,
                 ", which is too large");
      y.set(a, shrinks ? x[a] / factor : size);
    }
    return y;
  }

  /// deep: [n, channels * block * block, height, width], the shape of the side with more channels.
  template <class Copy>
  void move(const tenon::Call& call, const tenon::Shape& deep, tenon::DType dtype, bool to_space,
            const std::byte* from, std::byte* to) const {
    const auto area = block * block, channels = deep[1] / area, height = deep[2], width = deep[3];
    const tenon::Shape extent{deep[0], channels, height, block, width, block};
    const auto image = height * width;
    const bool far = mode == DepthOrder::dcr;
    const Strides in_deep{deep[1] * image,
                          far ? image : area * image,
                          width,
                          (far ? channels : 1) * block * image,
                          1,
                          (far ? channels : 1) * image};
    const auto in_space = row_major(extent);
    const auto size = tenon::size_of(dtype);
    if (to_space)
      Copy(extent, in_deep, in_space, size)(call, from, to);
    else
      Copy(extent, in_space, in_deep, size)(call, from, to);
  }
};

struct DepthToSpace : BlocksOfPixels {
  static constexpr void describe(auto& op) {
    op.doc(
        "blocks of the spatial axes assembled from the channels of x (ONNX DepthToSpace; "
        "torch.pixel_shuffle if mode is crd)");
    op.input("x", "[batch, channels * block * block, height, width]");
    op.output("y", "[batch, channels, height * block, width * block]");
    describe_blocks(op);
    op.example({{"x", {1, 8, 2, 3}}}, {{"block", 2}});
    op.onnx("", "DepthToSpace")
        .attribute("blocksize", "block")
        .attribute("mode", "mode")
        .value("mode", "DCR", "dcr")
        .value("mode", "CRD", "crd");
  }

  void infer(tenon::Infer& io) const {
    io.set_output(0, moved(io, io.input(0).shape, true));
    io.set_input(0, moved(io, io.output(0).shape, false));
  }
  void forward(const tenon::Call& call) const { put<BoxCopy>(call); }
  void backward(const tenon::Call& call) const { put_back<BoxCopy>(call); }

 protected:
  template <class Copy>
  void put(const tenon::Call& call) const {
    move<Copy>(call, call.input_type(0).shape, call.input_type(0).dtype, true,
               bytes::input(call, 0), bytes::output(call, 0));
  }
  template <class Copy>
  void put_back(const tenon::Call& call) const {
    move<Copy>(call, call.input_type(0).shape, call.input_type(0).dtype, false,
               bytes::output_grad(call, 0), bytes::input_grad(call, 0));
  }
};

struct SpaceToDepth : BlocksOfPixels {
  static constexpr void describe(auto& op) {
    op.doc(
        "channels assembled from blocks of the spatial axes of x, the inverse of depth_to_space "
        "(ONNX SpaceToDepth)");
    op.input("x", "[batch, channels, height * block, width * block]");
    op.output("y", "[batch, channels * block * block, height, width]");
    describe_blocks(op);
    op.example({{"x", {1, 2, 4, 6}}}, {{"block", 2}});
    op.onnx("", "SpaceToDepth")
        .attribute("blocksize", "block")
        .attribute("mode", "mode")
        .value("mode", "DCR", "dcr")
        .value("mode", "CRD", "crd");
  }

  void infer(tenon::Infer& io) const {
    io.set_output(0, moved(io, io.input(0).shape, false));
    io.set_input(0, moved(io, io.output(0).shape, true));
  }
  void forward(const tenon::Call& call) const { put<BoxCopy>(call); }
  void backward(const tenon::Call& call) const { put_back<BoxCopy>(call); }

 protected:
  template <class Copy>
  void put(const tenon::Call& call) const {
    move<Copy>(call, call.output_type(0).shape, call.input_type(0).dtype, false,
               bytes::input(call, 0), bytes::output(call, 0));
  }
  template <class Copy>
  void put_back(const tenon::Call& call) const {
    move<Copy>(call, call.output_type(0).shape, call.input_type(0).dtype, true,
               bytes::output_grad(call, 0), bytes::input_grad(call, 0));
  }
};
