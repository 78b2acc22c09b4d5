/* A kernel for another device of what split_operator.c has; nothing runs it. */
#include "c_plugin.h"
RECORD(0)
KERNEL(cuda, split, &sound_table)
