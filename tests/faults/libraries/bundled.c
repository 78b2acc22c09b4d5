/* Bundled libraries of plugins: BELOW; BESIDE, which needs it; and one that is identified by its
 * NUMBER. */
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef BELOW
EXPORT int below(void) {
#ifdef CRASHES
  __builtin_trap();
#endif
  return 4;
}
#endif

#ifdef BESIDE
int below(void);
EXPORT int beside(void) {
  return below() + 3;
}
#endif

#ifdef NUMBER
EXPORT int number(void) {
  return NUMBER;
}
#if NUMBER == 0
__attribute__((constructor)) static void end_here(void) {
  abort();
}
#endif
#endif
