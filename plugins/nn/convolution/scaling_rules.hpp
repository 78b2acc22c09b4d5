// Rewrite rules that fold factors and summands with one element per filter, or with one element,
// into the weights and the bias of the preceding convolution.
#pragma once

// Texts of rules must be literals, which only macros can concatenate. A constant c becomes a vector
// for the bias, and a factor of the weights. Constants of other shapes are refused.
#define TENON_PLANES "squeeze(c; axis=[0, 2, 3])"
#define TENON_PLANES_FACTOR "expand_dims(" TENON_PLANES "; axis=[1, 2, 3])"
#define TENON_LINES "squeeze(c; axis=[0, 2])"
#define TENON_LINES_FACTOR "expand_dims(" TENON_LINES "; axis=[1, 2])"
#define TENON_ONE "reshape(c; shape=[1])"

// `w`: the weights, with the number of dimensions.
#define TENON_BIASED(w) "convolution(x, " w ", b!; ...inner)"
#define TENON_UNBIASED(w) "convolution(x, " w "; no_bias=true, ...inner)"
#define TENON_LEFT(function, layer) function "(" layer ", c!)"
#define TENON_RIGHT(function, layer) function "(c!, " layer ")"

// There is no rule for a division: a divisor of 0 gives infinity, which weights do not.
#define TENON_MULTIPLY(op, name, root, w, vector, factor)                      \
  op.rule(name, root("mul", TENON_BIASED(w)),                                  \
          "convolution(x, mul(w, " factor "), mul(b, " vector "); ...inner)"); \
  op.rule(name "_without_bias", root("mul", TENON_UNBIASED(w)),                \
          "convolution(x, mul(w, " factor "); no_bias=true, ...inner)")
#define TENON_INCREASE(op, name, root, function, w, vector) \
  op.rule(name, root(function, TENON_BIASED(w)),            \
          "convolution(x, w, " function "(b, " vector "); ...inner)")
#define TENON_NEW_BIAS(op, name, root, function, w, bias)          \
  op.rule(name "_without_bias", root(function, TENON_UNBIASED(w)), \
          "convolution(x, w, " bias "; no_bias=false, ...inner)")

#define TENON_FOLD_PLANES(op)                                                                     \
  TENON_MULTIPLY(op, "mul", TENON_LEFT, "w!:4", TENON_PLANES, TENON_PLANES_FACTOR);               \
  TENON_MULTIPLY(op, "mul_on_the_right", TENON_RIGHT, "w!:4", TENON_PLANES, TENON_PLANES_FACTOR); \
  TENON_INCREASE(op, "add", TENON_LEFT, "add", "w!:4", TENON_PLANES);                             \
  TENON_INCREASE(op, "add_on_the_right", TENON_RIGHT, "add", "w!:4", TENON_PLANES);               \
  TENON_INCREASE(op, "sub", TENON_LEFT, "sub", "w!:4", TENON_PLANES);                             \
  TENON_NEW_BIAS(op, "add", TENON_LEFT, "add", "w!:4", TENON_PLANES);                             \
  TENON_NEW_BIAS(op, "add_on_the_right", TENON_RIGHT, "add", "w!:4", TENON_PLANES);               \
  TENON_NEW_BIAS(op, "sub", TENON_LEFT, "sub", "w!:4", "neg(" TENON_PLANES ")")
#define TENON_FOLD_LINES(op)                                                           \
  TENON_MULTIPLY(op, "mul_line", TENON_LEFT, "w!:3", TENON_LINES, TENON_LINES_FACTOR); \
  TENON_INCREASE(op, "add_line", TENON_LEFT, "add", "w!:3", TENON_LINES);              \
  TENON_NEW_BIAS(op, "add_line", TENON_LEFT, "add", "w!:3", TENON_LINES)
#define TENON_FOLD_ONE(op)                                                             \
  TENON_MULTIPLY(op, "mul_one", TENON_LEFT, "w!", TENON_ONE, TENON_ONE);               \
  TENON_MULTIPLY(op, "mul_one_on_the_right", TENON_RIGHT, "w!", TENON_ONE, TENON_ONE); \
  TENON_INCREASE(op, "add_one", TENON_LEFT, "add", "w!", TENON_ONE);                   \
  TENON_INCREASE(op, "add_one_on_the_right", TENON_RIGHT, "add", "w!", TENON_ONE)

/// Use in describe() of the convolution.
#define TENON_FOLD_SCALES(op) \
  TENON_FOLD_PLANES(op);      \
  TENON_FOLD_LINES(op);       \
  TENON_FOLD_ONE(op)
