/* Built against a future ABI. */
#include "c_plugin.h"
EXPORT IN_MANIFESTS const char tenon_op_v2__future[] = "whatever ABI 2 says";
EXPORT const void* tenon_get_v2__future(const void* host) {
  return host;
}
