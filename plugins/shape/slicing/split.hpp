#pragma once
#include <string>

#include "../../shared/argument_numbers.hpp"
#include "../../shared/bytes.hpp"
#include "section.hpp"

struct Split : tenon::Operator {
  std::int64_t sections = 1;
  std::int64_t axis = 0;
  tenon::Ints sizes;
  bool uneven = false;

  static constexpr void describe(auto& op) {
    op.doc("x split along `axis` into `sections` sections of equal size, or of the sizes `sizes`");
    op.types(tenon::storable);
    op.input("x", "at least one dimension");
    describe_argument(op, "part_sizes", "[sections]; replaces the parameter `sizes`");
    op.output("part", "sections of x in order: x's shape with the section's size along `axis`")
        .count(&Split::sections);
    op.param("sections", &Split::sections, "number of sections").required().at_least(1);
    op.param("axis", &Split::axis, "axis to split along; negative axes count from the end");
    op.param("sizes", &Split::sizes, "size of each section along the axis; empty: equal sizes");
    op.param(
        "uneven", &Split::uneven,
        "if x cannot be split into equal sections, make the last section smaller; false: fail");
    op.backward_reads("part_sizes");
    op.takes_channels_last("x", "part");
    op.example({{"x", {4, 3}}}, {{"sections", 2}});
    op.onnx("", "Split")
        .since(2)
        .until(12)
        .inputs("x")
        .attribute("axis", "axis")
        .attribute("split", "sizes");
    op.onnx("", "Split")
        .since(13)
        .until(17)
        .inputs("x")
        .attribute("axis", "axis")
        .input_as("sizes", 1);
    op.onnx("", "Split")
        .since(18)
        .inputs("x")
        .attribute("axis", "axis")
        .input_as("sizes", 1)
        .attribute("num_outputs", "sections")
        .constant("uneven", true);
  }

  void configure() {
    if (sizes.size() != 0 && static_cast<std::int64_t>(sizes.size()) != sections)
      throw tenon::Error(tenon::ErrorKind::parameter, "sizes has ", sizes.size(),
                         " values, but sections is ", sections,
                         ": needs one size for each section");
    std::int64_t sum = 0;
    for (const auto size : sizes)
      if (size < 0 || __builtin_add_overflow(sum, size, &sum))
        throw tenon::Error(tenon::ErrorKind::parameter, "sizes contains ", size,
                           ": needs sizes of 0 or more, with a sum that 64 bits can represent");
  }

  void infer(tenon::Infer& io) const {
    auto x = io.input(0).shape;
    for (int i = 0; i < io.outputs() && !x.has_rank(); ++i)
      if (const auto section = io.output(i).shape; section.has_rank())
        x = tenon::Shape::of_rank(section.rank());
    if (!x.has_rank()) return;

    const int along = axis_of(io, axis, x.rank());
    const auto requested = argument_numbers(io, "part_sizes", sizes, "sizes");
    for (int i = 0; i < io.outputs(); ++i) learn(io, x, io.output(i).shape, along, i);
    if (!requested) {
      io.set_input(0, x);
      for (int i = 0; i < io.outputs(); ++i) io.set_output(i, with_size(x, along, tenon::unknown));
      return;
    }
    if (io.has_input("part_sizes"))
      if (const auto reason = contradiction(*requested, x[along]); !reason.empty())
        io.require(false, "x is ", x, ", but part_sizes ", reason);
    if (!requested->empty()) x.set(along, sum_of_sizes(io, *requested, x, along));
    io.set_input(0, x);
    io.require(
        !requested->empty() || uneven || x[along] == tenon::unknown || x[along] % sections == 0,
        "x is ", x, ", whose axis ", axis, " cannot be split into ", sections, " equal sections");
    for (int i = 0; i < io.outputs(); ++i)
      io.set_output(i, with_size(x, along, size(*requested, x[along], i)));
  }

  void forward(const tenon::Call& call) const { cut<BoxCopy>(call); }
  void backward(const tenon::Call& call) const { join<BoxCopy>(call); }
  void gradient(tenon::Gradient& g) const {
    std::vector<tenon::Gradient::Value> sections_grad;
    for (int i = 0; i < g.outputs(); ++i) sections_grad.push_back(g.output_grad(i));
    g.set_input_grad(0,
                     g.add("concat", sections_grad.data(), sections_grad.size(), {{"axis", axis}}));
  }

 protected:
  template <class Copy>
  void cut(const tenon::Call& call) const {
    each(call, [&](int i, const Section& section) {
      if (call.write(i) != tenon::Write::none)
        section.take<Copy>(call, bytes::input(call, 0), bytes::output(call, i));
    });
  }

  template <class Copy>
  void join(const tenon::Call& call) const {
    std::byte* dx = bytes::input_grad(call, 0);
    for (int i = 0; i < call.outputs(); ++i)
      if (!call.has_output_grad(i)) Copy::clear(call, dx, call.input_bytes(0));
    each(call, [&](int i, const Section& section) {
      if (call.has_output_grad(i)) section.put<Copy>(call, bytes::output_grad(call, i), dx);
    });
  }

 private:
  std::int64_t size(const Numbers& requested, std::int64_t whole, int i) const {
    if (!requested.empty()) return requested[static_cast<std::size_t>(i)];
    if (whole == tenon::unknown || !uneven)
      return whole == tenon::unknown ? tenon::unknown : whole / sections;
    const auto largest_section = whole / sections + (whole % sections != 0);
    return std::clamp<std::int64_t>(whole - i * largest_section, 0, largest_section);
  }

  /// The reason why an axis of this size cannot be split into these sections; empty if it can.
  std::string contradiction(const Numbers& requested, std::int64_t whole) const {
    if (static_cast<std::int64_t>(requested.size()) != sections)
      return tenon::join("has ", requested.size(), " values, but sections is ", sections);
    std::int64_t sum = 0;
    for (const auto size : requested)
      if (size < 0 || __builtin_add_overflow(sum, size, &sum))
        return tenon::join("contains ", size,
                           ": needs sizes of 0 or more, with a sum that 64 bits can represent");
    return whole == tenon::unknown || whole == sum
               ? std::string()
               : tenon::join("adds up to ", sum, ", not to ", whole);
  }

  std::int64_t sum_of_sizes(const tenon::Infer& io, const Numbers& requested, const tenon::Shape& x,
                            int along) const {
    std::int64_t sum = 0;
    for (const auto size : requested) sum += size;
    io.require(x[along] == tenon::unknown || x[along] == sum, "x is ", x, ", but sizes adds up to ",
               sum, " along axis ", axis);
    return sum;
  }

  /// Infers sizes of x from a section.
  void learn(const tenon::Infer& io, tenon::Shape& x, const tenon::Shape& section, int along,
             int i) const {
    if (!section.has_rank()) return;
    io.require(section.rank() == x.rank(), "section ", i, " is ", section, ", but x has rank ",
               x.rank());
    for (int a = 0; a < x.rank(); ++a) {
      if (x[a] != tenon::unknown || section[a] == tenon::unknown) continue;
      std::int64_t size = section[a];
      if (a == along && (sizes.size() != 0 || uneven || io.has_input("part_sizes") ||
                         __builtin_mul_overflow(size, sections, &size)))
        continue;
      x.set(a, size);
    }
  }

  template <class Body>
  void each(const tenon::Call& call, Body body) const {
    const auto x = call.input_type(0);
    const int along = axis_of(axis, x.shape.rank());
    const auto requested = argument_numbers(call, "part_sizes", sizes);
    if (call.has_input("part_sizes"))
      if (const auto reason = contradiction(requested, x.shape[along]); !reason.empty())
        throw tenon::Error(tenon::ErrorKind::type, "x is ", x.shape, ", but part_sizes ", reason);
    const bool last = call.channels_last(0);
    const int in_whole = axis_in_memory(along, x.shape.rank(), last);
    std::int64_t start = 0;
    for (int i = 0; i < call.outputs(); ++i) {
      const auto shape = with_size(x.shape, along, size(requested, x.shape[along], i));
      if (call.has_input("part_sizes")) check_section(call, shape, i);
      body(i, Section(in_memory(x.shape, last), in_memory(shape, last), in_whole, start, x.dtype));
      start += shape[along];
    }
  }

  static void check_section(const tenon::Call& call, const tenon::Shape& shape, int i) {
    if (call.backward() ? call.has_output_grad(i) : call.write(i) != tenon::Write::none)
      require_output(call, shape, i);
  }
};
