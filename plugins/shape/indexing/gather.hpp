// gather, gather_along and gather_nd: one class, parameterized by the locations of output's blocks
// in data.
#pragma once
#include "block_offsets.hpp"
#include "shared/dims.hpp"

template <class Op>
struct Gathering : tenon::Operator {
  void forward(const tenon::Call& call) const {
    if (call.output_type(0).shape.size() == 0) return;
    take_blocks(call, offsets(call), tenon::size_of(call.input_type(0).dtype),
                bytes::input(call, 0), bytes::output(call, 0));
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    add_blocks(call, call.output_type(0).shape.size() == 0 ? BlockOffsets() : offsets(call));
  }

 protected:
  static constexpr void describe_gathering(auto& op, const char* indices) {
    op.types(tenon::storable);
    op.input("data", "at least one dimension");
    op.input("indices", indices).types(tenon::integral);
    op.linear("data");
    op.backward_reads("indices");
  }

 private:
  BlockOffsets offsets(const tenon::Call& call) const {
    const auto& op = static_cast<const Op&>(*this);
    return op.offsets(call.input_type(0).shape, call.input_type(1).shape, integers_of(call, 1));
  }
};

struct Gather : Gathering<Gather> {
  std::int64_t axis = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "slices of data along `axis` at indices: output[a, i, b] = data[a, indices[i], b] (ONNX "
        "Gather)");
    describe_gathering(op, "any shape; negative indices count from the end");
    op.output("output", "data's shape, with `axis` replaced by the axes of indices");
    op.param("axis", &Gather::axis, "axis of data to index; negative axes count from the end");
    op.example({{"data", {3, 3}}, {"indices", {2, 2}, tenon::i64, {0, -1, 2, 1}}}, {{"axis", 1}});
    op.example({{"data", {3}}, {"indices", {}, tenon::i64, {1}}});
    op.onnx("", "Gather").attribute("axis", "axis");
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape, indices = io.input(1).shape;
    if (!data.has_rank()) return;
    const int along = axis_of(io, axis, data.rank());
    if (!indices.has_rank()) return;
    const int rank = data.rank() - 1 + indices.rank();
    io.require(rank <= tenon::max_rank, "data is ", data, " and indices ", indices,
               ": output would have ", rank, " dimensions, more than 8");
    auto output = tenon::Shape::of_rank(rank);
    for (int a = 0; a < rank; ++a)
      output.set(a, a < along                    ? data[a]
                    : a < along + indices.rank() ? indices[a - along]
                                                 : data[a - indices.rank() + 1]);
    io.set_output(0, output);
  }

  BlockOffsets offsets(const tenon::Shape& data, const tenon::Shape&,
                       const std::vector<std::int64_t>& indices) const {
    return offsets_along(data, indices, axis_of(axis, data.rank()));
  }
};

struct GatherAlong : Gathering<GatherAlong> {
  std::int64_t axis = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "elements of data along `axis`, one for each index: output[a, i, b] = data[a, indices[a, "
        "i, b], b] (torch.gather, ONNX GatherElements)");
    describe_gathering(op,
                       "same number of dimensions as data, with sizes at most those of data along "
                       "the axes other than `axis`; negative indices count from the end");
    op.output("output", "same shape as indices");
    op.param("axis", &GatherAlong::axis, "axis of data to index; negative axes count from the end");
    op.example({{"data", {3, 3}}, {"indices", {2, 2}, tenon::i64, {0, -1, 2, 1}}});
    op.onnx("", "GatherElements").since(11).attribute("axis", "axis");
  }

  void infer(tenon::Infer& io) const {
    infer_indices_along(io, axis);
    io.set_output(0, io.input(1).shape);
    io.set_input(1, io.output(0).shape);
  }

  /// Checks indices against data.
  static void infer_indices_along(tenon::Infer& io, std::int64_t axis) {
    const auto data = io.input(0).shape, indices = io.input(1).shape;
    if (!data.has_rank()) return;
    const int along = axis_of(io, axis, data.rank());
    bool fits = !indices.has_rank() || indices.rank() == data.rank();
    for (int a = 0; fits && indices.has_rank() && a < data.rank(); ++a)
      fits = a == along || data[a] == tenon::unknown || indices[a] == tenon::unknown ||
             indices[a] <= data[a];
    io.require(fits, "indices is ", indices, ", but needs the rank of data, ", data,
               ", and no larger sizes except along axis ", axis);
    if (!indices.has_rank()) io.set_input(1, tenon::Shape::of_rank(data.rank()));
  }

  BlockOffsets offsets(const tenon::Shape& data, const tenon::Shape& shape,
                       const std::vector<std::int64_t>& indices) const {
    return offsets_of_each(data, shape, indices, axis_of(axis, data.rank()));
  }
};

struct GatherNd : Gathering<GatherNd> {
  std::int64_t batch_dims = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "slices of data at index tuples: output[i] = data[indices[i, 0], indices[i, 1], ...] (ONNX "
        "GatherND)");
    describe_gathering(op,
                       "[..., depth]; index tuples for the first depth axes of data after "
                       "`batch_dims`; negative indices count from the "
                       "end");
    op.output("output",
              "the shape of indices without its last axis, followed by the axes of data that are "
              "not indexed");
    op.param("batch_dims", &GatherNd::batch_dims,
             "number of leading batch axes that data and indices share")
        .at_least(0);
    op.example({{"data", {2, 3, 2}}, {"indices", {2, 2}, tenon::i64, {0, -1, 1, 1}}});
    op.example({{"data", {2, 3}}, {"indices", {2, 2, 1}, tenon::i64, {0, -1, 1, 1}}},
               {{"batch_dims", 1}});
    op.onnx("", "GatherND").since(11).attribute("batch_dims", "batch_dims");
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape, indices = io.input(1).shape;
    if (!data.has_rank() || !indices.has_rank()) return;
    io.require(indices.rank() > 0 && batch_dims < indices.rank() && batch_dims < data.rank(),
               "data is ", data, " and indices ", indices,
               ", which do not both have more than batch_dims, ", batch_dims, ", dimensions");
    if (indices[-1] == tenon::unknown) return;
    const int batch = static_cast<int>(batch_dims);
    io.require(indices[-1] >= 1 && indices[-1] <= data.rank() - batch, "indices is ", indices,
               ": needs a last size of 1 to ", data.rank() - batch, ", the rank of data ", data,
               " without batch_dims");
    for (int a = 0; a < batch; ++a)
      io.require(data[a] == indices[a] || data[a] == tenon::unknown || indices[a] == tenon::unknown,
                 "data is ", data, " and indices ", indices, ", which differ along batch axis ", a);
    const int depth = static_cast<int>(indices[-1]),
              rank = indices.rank() - 1 + data.rank() - batch - depth;
    io.require(rank <= tenon::max_rank, "data is ", data, " and indices ", indices,
               ": output would have ", rank, " dimensions, more than 8");
    auto output = tenon::Shape::of_rank(rank);
    for (int a = 0; a < rank; ++a)
      output.set(
          a, a < indices.rank() - 1 ? indices[a] : data[a - (indices.rank() - 1) + batch + depth]);
    io.set_output(0, output);
  }

  BlockOffsets offsets(const tenon::Shape& data, const tenon::Shape& shape,
                       const std::vector<std::int64_t>& indices) const {
    return offsets_of_rows(data, shape, indices, static_cast<int>(batch_dims));
  }
};
