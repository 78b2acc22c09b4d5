/* A kernel of split_operator.c for another device; it never runs. */
#include "c_plugin.h"
RECORD(0)
KERNEL(cuda, split, &sound_table)
