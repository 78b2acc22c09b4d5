/* A library that a plugin brings along: which one it is shows in its number. */
#include <stdlib.h>

__attribute__((visibility("default"))) int number(void) {
  return NUMBER;
}
#if NUMBER == 0
__attribute__((constructor)) static void end_here(void) {
  abort();
}
#endif
