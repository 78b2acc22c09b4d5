/* A valid shared object without any Tenon symbols. */
__attribute__((visibility("default"))) int answer(void) {
  return 42;
}
