// scatter_along and scatter_nd: data with elements replaced or updated at indexed positions.
#pragma once
#include "gather.hpp"

enum class ScatterRule : std::uint8_t { none, add, mul, max, min };

template <class Op>
struct Scattering : tenon::Operator {
  ScatterRule reduction = ScatterRule::none;

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const auto* const data = bytes::input(call, 0);
    auto* const output = bytes::output(call, 0);
    const auto size = static_cast<std::int64_t>(tenon::size_of(type.dtype));
    if (data != output)
      std::memcpy(output, data, static_cast<std::size_t>(type.shape.size() * size));
    const auto to = offsets(call);
    if (reduction != ScatterRule::none)
      return tenon::visit<tenon::any_real + tenon::Types{tenon::boolean}>(
          type.dtype, [&]<class T>() { change<T>(call, to); });
    const auto* const updates = bytes::input(call, 2);
    const auto block = to.block * size;
    to.each(0, to.count(), [&](std::int64_t i, std::int64_t offset) {
      std::memcpy(output + offset * size, updates + i * block, static_cast<std::size_t>(block));
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating + tenon::any_complex>(call.input_type(0).dtype, [&]<class T>() {
      if constexpr (tenon::is_complex<T>)
        move_back<T>(call);
      else if (reduction == ScatterRule::none || reduction == ScatterRule::add)
        move_back<T>(call);
      else
        share<T>(call);
    });
  }

 protected:
  static constexpr void describe_scattering(auto& op, const char* indices, const char* updates) {
    op.types(tenon::every_type);
    op.input("data", "at least one dimension");
    op.input("indices", indices).types(tenon::integral);
    op.input("updates", updates);
    op.output("output", "same shape as data");
    op.inplace("data", "output");
    op.linear("data").when("reduction", "none", "add");
    op.linear("updates").when("reduction", "none", "add");
    op.backward_reads("indices");
    op.backward_reads("data", "updates").when("reduction", "mul", "max", "min");
    op.param("reduction", &Scattering::reduction,
             "reduction of an element of data and all its updates: add, mul, max or min; none: the "
             "last update replaces the element")
        .one_of({{"none", ScatterRule::none},
                 {"add", ScatterRule::add},
                 {"mul", ScatterRule::mul},
                 {"max", ScatterRule::max},
                 {"min", ScatterRule::min}});
  }

  void refuse_complex(const tenon::Infer& io) const {
    if (tenon::any_complex.has(io.input(0).dtype) && reduction != ScatterRule::none)
      io.param_error("reduction", "needs real numbers, but data is ", io.input(0).dtype);
  }

 private:
  BlockOffsets offsets(const tenon::Call& call) const {
    const auto& op = static_cast<const Op&>(*this);
    if (call.input_type(2).shape.size() == 0) return {};
    return op.offsets(call.input_type(0).shape, call.input_type(1).shape, integers_of(call, 1));
  }

  /// Calls body(index in updates, index in data) for each element of the updates.
  static void each(const BlockOffsets& offsets, auto body) {
    offsets.each(0, offsets.count(), [&](std::int64_t i, std::int64_t offset) {
      for (std::int64_t j = 0; j < offsets.block; ++j) body(i * offsets.block + j, offset + j);
    });
  }

  template <class T>
  void change(const tenon::Call& call, const BlockOffsets& offsets) const {
    using Plain = std::conditional_t<tenon::is_half<T>, float, T>;
    T* const output = call.output<T>(0).data();
    const T* const updates = call.input<T>(2).data();
    std::vector<float> wide;  // 16-bit floats are rounded once
    if constexpr (tenon::is_half<T>) wide.assign(output, output + call.input_type(0).shape.size());
    each(offsets, [&](std::int64_t u, std::int64_t offset) {
      const auto update = static_cast<Plain>(updates[u]);
      if constexpr (tenon::is_half<T>)
        wide[static_cast<std::size_t>(offset)] =
            merged(wide[static_cast<std::size_t>(offset)], update);
      else
        output[offset] = merged(output[offset], update);
    });
    for (std::size_t i = 0; i < wide.size(); ++i) output[i] = static_cast<T>(wide[i]);
  }

  template <class T>
  T merged(T old, T update) const {
    switch (reduction) {
      case ScatterRule::add:
        if constexpr (std::is_same_v<T, bool>)
          return old || update;
        else if constexpr (std::is_integral_v<T>)
          return static_cast<T>(static_cast<std::uint64_t>(old) +
                                static_cast<std::uint64_t>(update));
        else
          return old + update;
      case ScatterRule::mul:
        if constexpr (std::is_same_v<T, bool>)
          return old && update;
        else if constexpr (std::is_integral_v<T>)
          return static_cast<T>(static_cast<std::uint64_t>(old) *
                                static_cast<std::uint64_t>(update));
        else
          return old * update;
      case ScatterRule::max:
        return update > old || update != update ? update : old;
      default:
        return update < old || update != update ? update : old;
    }
  }

  /// For none and add. The gradient of a replaced element is that of the last update.
  template <class T>
  void move_back(const tenon::Call& call) const {
    const auto to = offsets(call);
    const auto dy = call.output_grad<T>(0);
    const bool replaced = reduction == ScatterRule::none;
    if (call.write(0) != tenon::Write::none) {
      T* const dx = call.input_grad<T>(0).data();
      std::copy_n(dy.data(), dy.size(), dx);
      if (replaced) each(to, [&](std::int64_t, std::int64_t offset) { dx[offset] = T(0); });
    }
    if (call.write(2) == tenon::Write::none) return;
    T* const du = call.input_grad<T>(2).data();
    std::vector<std::int64_t> last(replaced ? static_cast<std::size_t>(dy.size()) : 0);
    if (replaced)
      each(to, [&](std::int64_t u, std::int64_t offset) {
        last[static_cast<std::size_t>(offset)] = u;
      });
    each(to, [&](std::int64_t u, std::int64_t offset) {
      du[u] = !replaced || last[static_cast<std::size_t>(offset)] == u ? dy.data()[offset] : T(0);
    });
  }

  /// For mul: the gradient times all other factors. For max and min: an equal part for each of the
  /// chosen elements.
  template <class T>
  void share(const tenon::Call& call) const {
    using Plain = std::conditional_t<tenon::is_half<T>, float, T>;
    const auto to = offsets(call);
    const auto x = call.input<T>(0), updates = call.input<T>(2), dy = call.output_grad<T>(0);
    const bool product = reduction == ScatterRule::mul;
    std::vector<Plain> chosen(x.begin(), x.end()),
        factors(static_cast<std::size_t>(x.size()), Plain(1));
    std::vector<std::int64_t> count(
        static_cast<std::size_t>(x.size()));  // of zeros, or of chosen elements
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    if (!product)
      each(to, [&](auto u, auto offset) {
        chosen[at(offset)] = merged(chosen[at(offset)], static_cast<Plain>(updates.data()[u]));
      });
    const auto note = [&](Plain value, std::int64_t offset) {
      if (product && value != Plain(0)) factors[at(offset)] *= value;
      count[at(offset)] += product ? value == Plain(0) : value == chosen[at(offset)];
    };
    for (std::int64_t i = 0; i < x.size(); ++i) note(static_cast<Plain>(x.data()[i]), i);
    each(to, [&](auto u, auto offset) { note(static_cast<Plain>(updates.data()[u]), offset); });
    const auto gradient_share = [&](T element, std::int64_t offset) {
      const auto value = static_cast<Plain>(element),
                 gradient = static_cast<Plain>(dy.data()[offset]);
      const auto n = count[at(offset)];
      if (!product)
        return static_cast<T>(value == chosen[at(offset)] ? gradient / static_cast<Plain>(n)
                                                          : Plain(0));
      const bool is_zero = value == Plain(0);
      if (n > is_zero) return T(0);
      return static_cast<T>(gradient *
                            (is_zero ? factors[at(offset)] : factors[at(offset)] / value));
    };
    if (call.write(0) != tenon::Write::none) {
      T* const dx = call.input_grad<T>(0).data();
      for (std::int64_t i = 0; i < x.size(); ++i) dx[i] = gradient_share(x.data()[i], i);
    }
    if (call.write(2) == tenon::Write::none) return;
    T* const du = call.input_grad<T>(2).data();
    each(to, [&](auto u, auto offset) { du[u] = gradient_share(updates.data()[u], offset); });
  }
};

struct ScatterAlong : Scattering<ScatterAlong> {
  std::int64_t axis = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "data with elements updated along `axis`, one for each index: output[a, indices[a, i, b], "
        "b] = updates[a, i, b] (torch.scatter, ONNX ScatterElements)");
    describe_scattering(op,
                        "same number of dimensions as data, with sizes at most those of data along "
                        "the axes other than `axis`; negative indices count from the end",
                        "same shape as indices");
    op.param("axis", &ScatterAlong::axis,
             "axis of data to index; negative axes count from the end");
    op.example(
        {{"data", {3, 3}}, {"indices", {2, 2}, tenon::i64, {0, -1, 2, 1}}, {"updates", {2, 2}}});
    op.onnx("", "Scatter").since(9).until(10).attribute("axis", "axis");
    op.onnx("", "ScatterElements")
        .since(11)
        .attribute("axis", "axis")
        .attribute("reduction", "reduction");
  }

  void infer(tenon::Infer& io) const {
    refuse_complex(io);
    io.set_output(0, io.input(0).shape);
    io.set_input(0, io.output(0).shape);
    GatherAlong::infer_indices_along(io, axis);
    io.set_input(1, io.input(2).shape);
    io.set_input(2, io.input(1).shape);
  }

  BlockOffsets offsets(const tenon::Shape& data, const tenon::Shape& shape,
                       const std::vector<std::int64_t>& indices) const {
    return offsets_of_each(data, shape, indices, axis_of(axis, data.rank()));
  }
};

struct ScatterNd : Scattering<ScatterNd> {
  static constexpr void describe(auto& op) {
    op.doc(
        "data with slices updated at index tuples: output[indices[i, 0], indices[i, 1], ...] = "
        "updates[i] (ONNX ScatterND)");
    describe_scattering(op,
                        "[..., depth]; index tuples for the first depth axes of data; negative "
                        "indices count from the end",
                        "the shape of indices without its last axis, followed by the axes of data "
                        "that are not indexed");
    op.example(
        {{"data", {2, 3, 2}}, {"indices", {2, 2}, tenon::i64, {0, -1, 1, 1}}, {"updates", {2, 2}}});
    op.onnx("", "ScatterND").since(11).attribute("reduction", "reduction");
  }

  void infer(tenon::Infer& io) const {
    refuse_complex(io);
    io.set_output(0, io.input(0).shape);
    io.set_input(0, io.output(0).shape);
    const auto data = io.input(0).shape, indices = io.input(1).shape;
    if (!data.has_rank() || !indices.has_rank()) return;
    io.require(indices.rank() > 0, "indices is a scalar, but needs at least one dimension");
    if (indices[-1] == tenon::unknown) return;
    io.require(indices[-1] >= 1 && indices[-1] <= data.rank(), "indices is ", indices,
               ": needs a last size of 1 to ", data.rank(), ", the rank of data ", data);
    const int depth = static_cast<int>(indices[-1]),
              rank = indices.rank() - 1 + data.rank() - depth;
    io.require(rank <= tenon::max_rank, "data is ", data, " and indices ", indices,
               ": updates would have ", rank, " dimensions, more than 8");
    auto updates = tenon::Shape::of_rank(rank);
    for (int a = 0; a < rank; ++a)
      updates.set(a, a < indices.rank() - 1 ? indices[a] : data[a - (indices.rank() - 1) + depth]);
    io.set_input(2, updates);
  }

  BlockOffsets offsets(const tenon::Shape& data, const tenon::Shape& shape,
                       const std::vector<std::int64_t>& indices) const {
    return offsets_of_rows(data, shape, indices, 0);
  }
};
