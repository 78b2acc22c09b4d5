/* A second kernel for the operator and device of split_kernel.c. */
#include "c_plugin.h"
RECORD(0)
static const tenon_operator table = {.size = sizeof table,
                                     .abi_major = TENON_ABI_MAJOR,
                                     .create = create,
                                     .destroy = destroy,
                                     .backward = forward};
KERNEL(cpu, split, &table)
