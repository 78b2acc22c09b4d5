__attribute__((visibility("default"))) int below(void) {
#ifdef CRASHES
  __builtin_trap();
#endif
  return 4;
}
