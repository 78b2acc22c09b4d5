// Tensors by index and by name: the literal 0 is always an index, and a null pointer is never a
// name.
#include <doctest/doctest.h>

#include <string>
#include <tenon/operator.hpp>
#include <tenon/text.hpp>

#include "call_by_hand.hpp"
#include "check_says.hpp"

namespace {

using tenon::Call;
using tenon::Compose;
using tenon::Gradient;
using tenon::Infer;
using tenon::Prepare;
using tenon::Shape;

template <class Key>
constexpr bool is_taken = requires(Infer& io, const Call& call, Gradient& g, Compose& c, Prepare& p,
                                   Key key, Gradient::Value value) {
  io.has_input(key), io.input(key), io.output(key), io.state(key), io.channels_last(key),
      io.output_channels_last(key);
  io.set_input(key, Shape()), io.set_output(key, Shape()), io.set_state(key, Shape()),
      io.template values<float>(key);
  call.has_input(key), call.has_output_grad(key), call.input_type(key), call.output_type(key),
      call.write(key);
  call.template input<float>(key), call.template output<float>(key),
      call.template output_grad<float>(key);
  call.template input_grad<float>(key), call.template output_value<float>(key),
      call.template state<float>(key);
  call.input_bytes(key), call.output_bytes(key), call.template allocate<float>(key, Shape());
  call.storage(key), call.output_storage(key), call.output_grad_storage(key);
  call.template csr<float>(key), call.template row_sparse<float>(key),
      call.template csr_output_grad<float>(key);
  call.template row_sparse_output_grad<float>(key), call.template allocate_csr<float>(key, 0);
  call.template allocate_row_sparse<float>(key, 0), call.channels_last(key),
      call.output_channels_last(key);
  g.input(key), g.has_input(key), g.output(key), g.output_grad(key), g.has_output_grad(key),
      g.set_input_grad(key, value);
  c.input(key), c.has_input(key), c.set_output(key, value);
  p.has_input(key), p.input(key), p.output(key), p.channels_last(key), p.output_channels_last(key),
      p.is_constant(key);
  p.template constant<float>(key);
};
static_assert(is_taken<int> && is_taken<unsigned> && is_taken<std::size_t> &&
              is_taken<std::int64_t>);
static_assert(is_taken<const char*> && is_taken<std::string> && is_taken<std::string_view> &&
              is_taken<tenon::Text>);

// A template, so that code that does not compile gives false.
template <class I>
constexpr bool takes_null_pointers = requires(I& io) {
  io.input(nullptr);
}
|| requires(I& io) {
  io.set_output(nullptr, Shape());
};
static_assert(!takes_null_pointers<Infer> && !takes_null_pointers<Compose>);
template <class I>
constexpr bool takes_zero_as_name = requires(I& io) {
  io.param_error(0);
}
|| requires(I& io) {
  io.require_same_shape(0, 1);
}
|| requires(I& io) {
  io.param_error(nullptr);
};
static_assert(!takes_zero_as_name<Infer>);
template <class G>
constexpr bool takes_no_operator = requires(G& g) {
  g.add(0, {});
}
|| requires(G& g) {
  g.add(nullptr, {});
};
static_assert(!takes_no_operator<Gradient>);

struct Named : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("has one of each");
    op.input("x", "any shape");
    op.output("y", "same shape");
    op.state("mean", "a scalar");
  }
  void forward(const Call&) const {}
};

tenon_type unknown() {
  tenon_type type{};
  type.rank = -1;
  type.dtype = TENON_DTYPE_UNKNOWN;
  return type;
}

template <class Work>
std::string refusal(Work&& work) {
  try {
    work();
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("infer: the literal 0 is the index 0, and a null name is rejected") {
  auto x = unknown(), y = unknown(), mean = unknown();
  x.present = 1;
  tenon_infer raw{};
  raw.size = sizeof raw;
  raw.input_count = raw.output_count = raw.state_count = 1;
  raw.inputs = &x, raw.outputs = &y, raw.states = &mean;
  Infer io(raw, tenon::detail::names_of<tenon::Completed<Named>>);
  io.set_input(0, {2, 3});
  io.set_output(0, {3});
  io.set_state(0, {4});
  CHECK(io.input("x").shape == Shape{2, 3});
  CHECK(io.output(std::string("y")).shape == Shape{3});
  CHECK(io.state("mean").shape == Shape{4});
  CHECK(io.state(0U).shape == Shape{4});
  const char* null = nullptr;
  CHECK_FALSE(io.has_input(null));
  CHECK(refusal([&] { io.set_state(null, {1}); }) ==
        "infer() requests state '(null)', but describe() names mean");
  CHECK(refusal([&] { io.set_state(1, {1}); }) ==
        "infer() requests state 1, but there are 1 (mean)");
  CHECK(refusal([&] { io.param_error(null, "is wrong"); }) == "parameter '(null)' is wrong");
  CHECK(refusal([&] { io.require_same_shape("x", null); }) ==
        "infer() requests input '(null)', but describe() names x");
}

TEST_CASE("calls: a null name is rejected, and a workspace error names the requesting function") {
  tenon_call raw{};
  raw.size = sizeof raw;
  raw.dispatch = TENON_BACKWARD;
  const Call call(raw, tenon::detail::names_of<tenon::Completed<Named>>);
  const char* null = nullptr;
  CHECK(refusal([&] { call.input<float>(null); }) ==
        "the kernel requests input '(null)', but describe() names x");
  check_says(
      refusal([&] { call.workspace<double>(3); }),
      {"backward requests a workspace of 3 times 8 bytes", "backward_workspace() requested 0"});
  raw.dispatch = TENON_FORWARD;
  check_says(refusal([&] { call.workspace<double>(3); }),
             {"kernel requests a workspace of 3 times 8 bytes", "but workspace() requested 0"});
}
