__attribute__((visibility("default"))) int below(void) {
  return 4;
}
