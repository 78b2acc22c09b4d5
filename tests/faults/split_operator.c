/* An operator whose kernels are in other plugins: split_kernel.c and split_kernel_too.c. */
#include "c_plugin.h"
RECORD(0)
static const tenon_operator table = {.size = sizeof table,
                                     .abi_major = TENON_ABI_MAJOR,
                                     .create = create,
                                     .destroy = destroy,
                                     .infer = infer};
OPERATOR(split, MANIFEST(T5 "split", T0, ONE, YES), &table)
