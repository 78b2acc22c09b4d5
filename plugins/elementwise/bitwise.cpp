// Bitwise operators and shifts.
#include <cstdint>
#include <tenon/elementwise.hpp>
#include <type_traits>

struct BitwiseAnd : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("bitwise AND of left and right, element by element");
    op.types(tenon::any_integer);
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "BitwiseAnd").since(18);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return T(left & right);
  }
};
TENON_OPERATOR(bitwise_and, BitwiseAnd)

struct BitwiseOr : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("bitwise OR of left and right, element by element");
    op.types(tenon::any_integer);
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "BitwiseOr").since(18);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return T(left | right);
  }
};
TENON_OPERATOR(bitwise_or, BitwiseOr)

struct BitwiseXor : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("bitwise XOR of left and right, element by element");
    op.types(tenon::any_integer);
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "BitwiseXor").since(18);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return T(left ^ right);
  }
};
TENON_OPERATOR(bitwise_xor, BitwiseXor)

struct BitwiseNot : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("bitwise NOT of x, element by element");
    op.types(tenon::any_integer);
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.onnx("", "BitwiseNot").since(18);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return T(~x);
  }
};
TENON_OPERATOR(bitwise_not, BitwiseNot)

enum class BitDirection : std::int32_t { left, right };

struct BitShift : tenon::Elementwise {
  BitDirection direction = BitDirection::left;

  static constexpr void describe(auto& op) {
    op.doc("bitwise shift of x, element by element; bits shifted out are lost");
    op.types(tenon::any_integer);
    op.input("x", "any shape");
    op.input("places",
             "number of bits to shift by; a shape that broadcasts with that of x; if negative or "
             "at least the width of the dtype in bits, all bits are shifted out");
    op.output("y", "the inputs' shapes broadcast together");
    op.param("direction", &BitShift::direction,
             "direction of the shift; right shifts of signed integers are arithmetic (they copy "
             "the sign bit), all others fill with zeros")
        .required()
        .one_of({{"left", BitDirection::left}, {"right", BitDirection::right}});
    op.example({{"x", {2, 3}}, {"places", {3}}}, {{"direction", "left"}});
    op.onnx("", "BitShift")
        .since(11)
        .attribute("direction", "direction")
        .value("direction", "LEFT", "left")
        .value("direction", "RIGHT", "right");
  }

  template <class T>
  TENON_FN T operator()(T x, T amount) const {
    using Bits = std::make_unsigned_t<T>;
    using Wide = std::common_type_t<Bits, unsigned>;  // not int, to which uint16 would be promoted
    constexpr Bits bits = 8 * sizeof(T);
    const bool inside = Bits(amount) < bits;
    const T by = where(inside, amount, T(0)), max_shift = where(inside, amount, T(bits - 1));
    const T left = where(inside, T(Wide(Bits(x)) << by), T(0));
    const T right = std::is_signed_v<T> ? T(x >> max_shift) : where(inside, T(x >> by), T(0));
    return where(direction == BitDirection::left, left, right);
  }
};
TENON_OPERATOR(bit_shift, BitShift)
