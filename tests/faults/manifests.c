/* Plugins in plain C, one for each FAULT_NAME, that differ in their symbols, manifest or table. */
#include <string.h>

#include "c_plugin.h"

#ifdef FAULT_plain
/* No fault. */
RECORD(0)
OPERATOR(plain, MANIFEST(T5 "plain", T0, ONE, NO), &sound_table)
#endif

#ifdef FAULT_plain_newer
/* The operator of plain, one version later. */
RECORD(0)
OPERATOR(plain, MANIFEST(T5 "plain", T0, TWO, NO), &sound_table)
#endif

#ifdef FAULT_plain_otherwise
/* The operator of plain with another manifest, so that the two conflict. */
RECORD(0)
OPERATOR(plain, MANIFEST(T5 "plain", T9 "otherwise", ONE, NO), &sound_table)
#endif

#ifdef FAULT_wrong_name
/* The manifest's operator name differs from the symbol's. */
RECORD(0)
OPERATOR(wrong_name, MANIFEST(T5 "plain", T0, ONE, NO), &sound_table)
#endif

#ifdef FAULT_newer_minor
RECORD(99)
OPERATOR(newer_minor, MANIFEST(T11 "newer_minor", T0, ONE, NO), &sound_table)
#endif

#ifdef FAULT_abi_2
/* Built against a future ABI. */
EXPORT IN_MANIFESTS const char tenon_op_v2__future[] = "whatever ABI 2 says";
EXPORT const void* tenon_get_v2__future(const void* host) {
  return host;
}
#endif

#ifdef FAULT_no_plugin
/* A valid shared object without any Tenon symbols. */
__attribute__((visibility("default"))) int answer(void) {
  return 42;
}
#endif

#ifdef FAULT_no_getter
RECORD(0)
ONLY_MANIFEST(no_getter, MANIFEST(T9 "no_getter", T0, ONE, NO))
#endif

#ifdef FAULT_data_getter
/* The getter symbol is data: calling it would jump into the data. */
RECORD(0)
ONLY_MANIFEST(data_getter, MANIFEST(T11 "data_getter", T0, ONE, NO))
EXPORT int tenon_get_v1__data_getter = 1;
#endif

#ifdef FAULT_undefined_symbol
RECORD(0)
extern const tenon_operator* a_function_that_nobody_has(void);
OPERATOR(undefined_symbol, MANIFEST(T16 "undefined_symbol", T0, ONE, NO),
         a_function_that_nobody_has())
#endif

#ifdef FAULT_null_table
RECORD(0)
OPERATOR(null_table, MANIFEST(T10 "null_table", T0, ONE, NO), 0)
#endif

#ifdef FAULT_short_table
RECORD(0)
static const tenon_operator table = {.size = 24, .abi_major = TENON_ABI_MAJOR};
OPERATOR(short_table, MANIFEST(T11 "short_table", T0, ONE, NO), &table)
#endif

#ifdef FAULT_other_major_table
RECORD(0)
static const tenon_operator table = {.size = sizeof table,
                                     .abi_major = 2,
                                     .create = create,
                                     .destroy = destroy,
                                     .infer = infer,
                                     .forward = forward};
OPERATOR(other_major_table, MANIFEST(T17 "other_major_table", T0, ONE, NO), &table)
#endif

#ifdef FAULT_incomplete_table
RECORD(0)
static const tenon_operator table = {
    .size = sizeof table, .abi_major = TENON_ABI_MAJOR, .infer = infer, .forward = forward};
OPERATOR(incomplete_table, MANIFEST(T16 "incomplete_table", T0, ONE, NO), &table)
#endif

#ifdef FAULT_takes_any_kind
/* Refuses unknown parameters, and accepts values of any kind for its own one. */
RECORD(0)
#define SIZE                                                                                       \
  LIST_OF_1 "\xaa" T4 "name" T4 "size" T3 "doc" T4 "size" T4 "kind" T5 "int64" T7 "default" ONE T8 \
            "required" NO T3 "min" NOTHING T3 "max" NOTHING T5 "above" NOTHING T5                  \
            "below" NOTHING T7 "choices" EMPTY
static int32_t create_any(const tenon_attribute* attributes, uint64_t count, void** instance,
                          tenon_error* error) {
  for (uint64_t i = 0; i < count; ++i)
    if (strcmp(attributes[i].name, "size") != 0) return 1;
  return create(attributes, count, instance, error);
}
static const tenon_operator table = {.size = sizeof(tenon_operator),
                                     .abi_major = TENON_ABI_MAJOR,
                                     .abi_minor = TENON_ABI_MINOR,
                                     .create = create_any,
                                     .destroy = destroy,
                                     .infer = infer,
                                     .forward = forward};
OPERATOR(takes_any_kind, MANIFEST_WITH(SIZE, T14 "takes_any_kind", T0, ONE, NO), &table)
#endif

#ifdef FAULT_split_operator
/* An operator whose kernels are in other plugins: split_kernel and split_kernel_too. */
RECORD(0)
static const tenon_operator table = {.size = sizeof table,
                                     .abi_major = TENON_ABI_MAJOR,
                                     .create = create,
                                     .destroy = destroy,
                                     .infer = infer};
OPERATOR(split, MANIFEST(T5 "split", T0, ONE, YES), &table)
#endif

#ifdef FAULT_split_kernel
RECORD(0)
KERNEL(cpu, split, &sound_table)
#endif

#ifdef FAULT_split_kernel_too
/* A second kernel for the operator and device of split_kernel. */
RECORD(0)
static const tenon_operator table = {.size = sizeof table,
                                     .abi_major = TENON_ABI_MAJOR,
                                     .create = create,
                                     .destroy = destroy,
                                     .backward = forward};
KERNEL(cpu, split, &table)
#endif

#ifdef FAULT_split_cuda_kernel
/* A kernel of split_operator for another device; it never runs. */
RECORD(0)
KERNEL(cuda, split, &sound_table)
#endif
