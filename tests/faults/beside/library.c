/* A bundled library of a plugin, which needs another library. */
int below(void);
__attribute__((visibility("default"))) int beside(void) {
  return below() + 3;
}
