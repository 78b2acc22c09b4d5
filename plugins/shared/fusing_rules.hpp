// Rewrite rules that fuse a layer with the operators after it. The results are bit-identical to
// those of the separate operators, so the rules are exact.
#pragma once

// Rule texts are literals, which only macros can concatenate. `inner` and `fused` are names of
// operators with the inputs x, w, b; `fused` also has the parameters of WithActivation. `of` and
// `to` pass the function's parameters in the pattern and in the fused form.
#define TENON_FUSE_FUNCTION(op, inner, fused, function, of, to)                                   \
  op.exact_rule(function, function "(" inner "(x, w, b?; ...layer)" of ")",                       \
                fused "(x, w, b?; activation=\"" function "\"" to ", ...layer)");                 \
  op.exact_rule("sum_" function,                                                                  \
                function "(" fused "(x, w, b?, addend=y?; activation=\"none\", ...layer)" of ")", \
                fused "(x, w, b?, addend=y?; activation=\"" function "\"" to ", ...layer)")

/// Use in describe() of the fused operator.
#define TENON_FUSE(op, inner, fused)                                                       \
  TENON_FUSE_FUNCTION(op, inner, fused, "relu", "", "");                                   \
  TENON_FUSE_FUNCTION(op, inner, fused, "gelu", "", "");                                   \
  TENON_FUSE_FUNCTION(op, inner, fused, "sigmoid", "", "");                                \
  TENON_FUSE_FUNCTION(op, inner, fused, "tanh", "", "");                                   \
  TENON_FUSE_FUNCTION(op, inner, fused, "swish", "", "");                                  \
  TENON_FUSE_FUNCTION(op, inner, fused, "hard_swish", "", "");                             \
  TENON_FUSE_FUNCTION(op, inner, fused, "leaky_relu", "; slope=$slope", ", slope=$slope"); \
  TENON_FUSE_FUNCTION(op, inner, fused, "clip", "; low=$low, high=$high",                  \
                      ", low=$low, high=$high");                                           \
  op.exact_rule("sum", "add(" inner "(x, w, b?; ...layer), y)",                            \
                fused "(x, w, b?, addend=y; ...layer)");                                   \
  op.exact_rule("sum_on_the_right", "add(y, " inner "(x, w, b?; ...layer))",               \
                fused "(x, w, b?, addend=y; ...layer)")
