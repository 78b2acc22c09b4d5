/* A sound shared object that has nothing to do with Tenon. */
__attribute__((visibility("default"))) int answer(void) {
  return 42;
}
