/* What a plugin brings along in a library of its own, which brings another. */
int below(void);
__attribute__((visibility("default"))) int beside(void) {
  return below() + 3;
}
