// Normalization of rows: of the features from an axis on (rms_norm), and of groups of channels
// (group_norm, instance_norm).
#pragma once
#include <tenon/operator.hpp>

#include "shared/axis.hpp"
#include "shared/fits.hpp"

/// The rows of data. The index of an element's gamma and beta is (row % groups) * per_group + i /
/// repeat.
struct NormRows {
  std::int64_t count, size;
  std::int64_t groups = 1, per_group = 0, repeat = 1;
};

struct RowNorm : tenon::Operator {
  double epsilon = 1e-5;

  static void require_vector(tenon::Infer& io, const char* name, const tenon::Shape& needed) {
    const auto found = io.input(name).shape;
    io.require(fits(found, needed), name, " is ", found, " but needs ", needed);
    io.set_input(name, needed);
  }

 protected:
  // Defined by the including source, for the CPU or CUDA.
  void normalise(const tenon::Call& call, const NormRows& rows, bool centred) const;
  void gradients(const tenon::Call& call, const NormRows& rows, bool centred) const;
};

struct RmsNorm : RowNorm {
  std::int32_t axis = -1;

  static constexpr void describe(auto& op) {
    op.doc(
        "root mean square normalization: gamma * data / sqrt(mean(data^2) + epsilon), with the "
        "mean over the axes from `axis` to the last");
    op.input("data", "at least one dimension");
    op.input("gamma", "sizes of data from `axis` to the last; scale").initial(1);
    op.output("output", "same shape as data");
    op.param("axis", &RmsNorm::axis,
             "first of the axes to normalize over; negative axes count from the end")
        .at_least(-8)
        .at_most(7);
    op.param("epsilon", &RmsNorm::epsilon, "added to the mean of squares").greater_than(0);
    op.inplace("data", "output");
    op.backward_reads("data", "gamma");
    op.example({{"data", {2, 3}}, {"gamma", {3}}});
    op.example({{"data", {2, 3, 4}}, {"gamma", {3, 4}}}, {{"axis", 1}});
    op.onnx("", "RMSNormalization")
        .since(23)
        .attribute("axis", "axis")
        .attribute("epsilon", "epsilon")
        .only("stash_type", 1);
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input("data").shape;
    if (!data.has_rank()) return;
    require_axis(io, data, axis);
    const int split = axis < 0 ? axis + data.rank() : axis;
    require_vector(io, "gamma", tenon::Shape(data.begin() + split, data.rank() - split));
    io.set_output(0, data);
  }
  void forward(const tenon::Call& call) const {
    normalise(call, rows_of(call.input_type(0).shape), false);
  }
  void backward(const tenon::Call& call) const {
    gradients(call, rows_of(call.input_type(0).shape), false);
  }

 protected:
  NormRows rows_of(const tenon::Shape& data) const {
    const auto along = Axis::of(data, axis);
    return {along.outer, along.length * along.inner};
  }
};

/// Normalization of channels: data is [batch, channels, ...].
struct ChannelNorm : RowNorm {
  static constexpr void describe_tensors(auto& op) {
    op.input("data", "[batch, channels, ...]");
    op.input("gamma", "[channels]; scale").initial(1);
    op.input("beta", "[channels]; offset").weight();
    op.output("output", "same shape as data");
    op.param("epsilon", &ChannelNorm::epsilon, "added to the variance").greater_than(0);
    op.inplace("data", "output");
    op.backward_reads("data", "gamma");
  }

 protected:
  static void infer_channels(tenon::Infer& io, std::int64_t groups) {
    const auto data = io.input("data").shape;
    if (!data.has_rank()) return;
    io.require(data.rank() >= 2, "data is ", data,
               " but needs at least two dimensions: batch and channels");
    io.require(data[1] == tenon::unknown || data[1] % groups == 0, "data ", data, " has ", data[1],
               " channels, which is not a multiple of groups, ", groups);
    for (const char* name : {"gamma", "beta"}) require_vector(io, name, {data[1]});
    io.set_output(0, data);
  }
  static NormRows rows_of_groups(const tenon::Shape& data, std::int64_t groups) {
    std::int64_t spatial = 1;
    for (int i = 2; i < data.rank(); ++i) spatial *= data[i];
    const auto per_group = groups > 0 ? data[1] / groups : 0;
    return {data[0] * groups, per_group * spatial, groups, per_group, spatial};
  }
};

struct GroupNorm : ChannelNorm {
  std::int64_t groups = 1;

  static constexpr void describe(auto& op) {
    op.doc(
        "group normalization: gamma * (data - mean) / sqrt(variance + epsilon) + beta, with mean "
        "and variance of each group of channels "
        "of each sample");
    describe_tensors(op);
    op.param("groups", &GroupNorm::groups, "number of channel groups").required().at_least(1);
    op.example({{"data", {2, 4, 3}}, {"gamma", {4}}, {"beta", {4}}}, {{"groups", 2}});
    op.onnx("", "GroupNormalization")
        .since(21)
        .attribute("num_groups", "groups")
        .attribute("epsilon", "epsilon")
        .only("stash_type", 1);
  }
  void infer(tenon::Infer& io) const { infer_channels(io, groups); }
  void forward(const tenon::Call& call) const {
    normalise(call, rows_of(call.input_type(0).shape), true);
  }
  void backward(const tenon::Call& call) const {
    gradients(call, rows_of(call.input_type(0).shape), true);
  }

 protected:
  NormRows rows_of(const tenon::Shape& data) const { return rows_of_groups(data, groups); }
};

struct InstanceNorm : ChannelNorm {
  static constexpr void describe(auto& op) {
    op.doc(
        "instance normalization: gamma * (data - mean) / sqrt(variance + epsilon) + beta, with "
        "mean and variance of each channel of each "
        "sample");
    describe_tensors(op);
    op.example({{"data", {2, 3, 4}}, {"gamma", {3}}, {"beta", {3}}});
    op.onnx("", "InstanceNormalization").since(6).attribute("epsilon", "epsilon");
  }
  void infer(tenon::Infer& io) const { infer_channels(io, 1); }
  void forward(const tenon::Call& call) const {
    normalise(call, rows_of(call.input_type(0).shape), true);
  }
  void backward(const tenon::Call& call) const {
    gradients(call, rows_of(call.input_type(0).shape), true);
  }

 protected:
  static NormRows rows_of(const tenon::Shape& data) { return rows_of_groups(data, data[1]); }
};
