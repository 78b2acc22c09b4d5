// For wheels: glibc 2.35 has a new version of hypot, which differs only in how it reports overflow.
// Linking the old version, which every glibc has, lets a wheel built there run with glibc 2.34,
// too.
#if defined(__x86_64__) && defined(__linux__)
extern "C" {
__attribute__((visibility("hidden"))) double own_hypot(double x, double y) noexcept
    __asm__("hypot");
__attribute__((visibility("hidden"))) float own_hypotf(float x, float y) noexcept __asm__("hypotf");
double old_hypot(double x, double y) noexcept;
float old_hypotf(float x, float y) noexcept;
__asm__(".symver old_hypot,hypot@GLIBC_2.2.5");
__asm__(".symver old_hypotf,hypotf@GLIBC_2.2.5");

double own_hypot(double x, double y) noexcept {
  return old_hypot(x, y);
}
float own_hypotf(float x, float y) noexcept {
  return old_hypotf(x, y);
}
}
#endif
