// The operators of this plugin.
#include "broadcast_to.hpp"
#include "concat.hpp"
#include "expand_dims.hpp"
#include "nonzero.hpp"
#include "one_hot.hpp"
#include "pad.hpp"
#include "reshape.hpp"
#include "retain.hpp"
#include "slice.hpp"
#include "split.hpp"
#include "squeeze.hpp"
#include "take_rows.hpp"
#include "transpose.hpp"

TENON_OPERATOR(broadcast_to, BroadcastTo)
TENON_OPERATOR(concat, Concat)
TENON_OPERATOR(expand_dims, ExpandDims)
TENON_OPERATOR(nonzero, Nonzero)
TENON_OPERATOR(one_hot, OneHot)
TENON_OPERATOR(pad, Pad)
TENON_OPERATOR(reshape, Reshape)
TENON_OPERATOR(retain, Retain)
TENON_OPERATOR(slice, Slice)
TENON_OPERATOR(split, Split)
TENON_OPERATOR(squeeze, Squeeze)
TENON_OPERATOR(take_rows, TakeRows)
TENON_OPERATOR(transpose, Transpose)
