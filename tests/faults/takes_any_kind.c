/* Refuses unknown parameters, and accepts values of any kind for its own one. */
#include <string.h>

#include "c_plugin.h"
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
