// Distribution and summation of the micro-batches of a training step: MicroBatchOwners and
// left_micro_batches(), which the plugin comm uses, too.
#pragma once
#include <tenon/detail/micro_batches.hpp>
