/* A bundled library, identified by its number. */
#include <stdlib.h>

__attribute__((visibility("default"))) int number(void) {
  return NUMBER;
}
#if NUMBER == 0
__attribute__((constructor)) static void end_here(void) {
  abort();
}
#endif
