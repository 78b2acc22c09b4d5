/* What a plugin brings along in a library of its own. */
__attribute__((visibility("default"))) int beside(void) {
  return 7;
}
