// Preloaded into a program, fails some of its system calls or ends it there: what a bad disk or a
// kill at the worst moment does. TENON_TEST_CALLS holds rules with ; between them, each
// CALL,PATH,FIRST,LAST,ACTION. CALL is the call's name, or any. The rule counts calls on files
// whose path ends with PATH, or with PATH* has PATH in it, from 1 on; from FIRST to LAST, ACTION is
// what happens instead: error NUMBER (of errno), or signal NUMBER before the call. Both names of
// rename and linkat count as the call's path. A file that has no name yet has its folder's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { most_rules = 8 };

static struct Rule {
  char call[16], path[256], action[16];
  int first, last, number;
  int count;
} rules[most_rules];
static int rule_count;

__attribute__((constructor)) static void read_rules(void) {
  const char* text = getenv("TENON_TEST_CALLS");
  while (text != NULL && *text != 0 && rule_count < most_rules) {
    struct Rule* rule = &rules[rule_count];
    if (sscanf(text, "%15[^,],%255[^,],%d,%d,%15s %d", rule->call, rule->path, &rule->first,
               &rule->last, rule->action, &rule->number) != 6)
      abort();
    ++rule_count;
    text = strchr(text, ';');
    if (text != NULL) ++text;
  }
}

static int matches(const char* path, const char* wanted) {
  const size_t size = strlen(path), length = strlen(wanted);
  if (length > 0 && wanted[length - 1] == '*')
    return memmem(path, size, wanted, length - 1) != NULL;
  return size >= length && strcmp(path + size - length, wanted) == 0;
}

// Whether the call is to fail, with errno set.
static int fails(const char* call, const char* path, const char* other) {
  for (int i = 0; i < rule_count; ++i) {
    struct Rule* rule = &rules[i];
    if (strcmp(rule->call, "any") != 0 && strcmp(rule->call, call) != 0) continue;
    if (!matches(path, rule->path) && (other == NULL || !matches(other, rule->path))) continue;
    const int now = __atomic_add_fetch(&rule->count, 1, __ATOMIC_SEQ_CST);
    if (now < rule->first || now > rule->last) continue;
    if (strcmp(rule->action, "signal") == 0) {
      kill(getpid(), rule->number);
      continue;
    }
    errno = rule->number;
    return 1;
  }
  return 0;
}

static int descriptor_fails(const char* call, int descriptor) {
  if (rule_count == 0) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return fails(call, path, NULL);
}

#define REAL(name, result, ...)       \
  static result (*real)(__VA_ARGS__); \
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, name)

#define DESCRIPTOR_CALL(name, kind, parameters, arguments, ...)      \
  int name parameters {                                              \
    REAL(#name, int, __VA_ARGS__);                                   \
    return descriptor_fails(kind, descriptor) ? -1 : real arguments; \
  }

DESCRIPTOR_CALL(fsync, "fsync", (int descriptor), (descriptor), int)
DESCRIPTOR_CALL(fchmod, "fchmod", (int descriptor, mode_t mode), (descriptor, mode), int, mode_t)
DESCRIPTOR_CALL(ftruncate, "ftruncate", (int descriptor, off_t size), (descriptor, size), int,
                off_t)
DESCRIPTOR_CALL(ftruncate64, "ftruncate", (int descriptor, off_t size), (descriptor, size), int,
                off_t)

// The descriptor is free even where closing fails.
int close(int descriptor) {
  REAL("close", int, int);
  const int failed = descriptor_fails("close", descriptor), error = errno;
  const int result = real(descriptor);
  if (failed) errno = error;
  return failed ? -1 : result;
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  REAL("write", ssize_t, int, const void*, size_t);
  return descriptor_fails("write", descriptor) ? -1 : real(descriptor, bytes, size);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  REAL("pwrite", ssize_t, int, const void*, size_t, off_t);
  return descriptor_fails("write", descriptor) ? -1 : real(descriptor, bytes, size, offset);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off_t offset) {
  REAL("pwrite64", ssize_t, int, const void*, size_t, off_t);
  return descriptor_fails("write", descriptor) ? -1 : real(descriptor, bytes, size, offset);
}

int rename(const char* from, const char* to) {
  REAL("rename", int, const char*, const char*);
  return fails("rename", to, from) ? -1 : real(from, to);
}
int unlink(const char* path) {
  REAL("unlink", int, const char*);
  return fails("unlink", path, NULL) ? -1 : real(path);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  REAL("linkat", int, int, const char*, int, const char*, int);
  return fails("linkat", to, from) ? -1 : real(from_folder, from, to_folder, to, flags);
}
int flock(int descriptor, int operation) {
  REAL("flock", int, int, int);
  return descriptor_fails("flock", descriptor) ? -1 : real(descriptor, operation);
}

static int open_as(const char* name, const char* path, int flags, mode_t mode) {
  REAL(name, int, const char*, int, ...);
  const char* call = (flags & O_TMPFILE) == O_TMPFILE ? "open_nameless" : "open";
  if ((flags & O_ACCMODE) != O_RDONLY && fails(call, path, NULL)) return -1;
  return real(path, flags, mode);
}
#define OPEN(name)                                                                       \
  int name(const char* path, int flags, ...) {                                           \
    va_list rest;                                                                        \
    va_start(rest, flags);                                                               \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                                        \
    return open_as(#name, path, flags, mode);                                            \
  }
OPEN(open)
OPEN(open64)
