/* Plugins in plain C that use only abi.h, including the manifest: loading must not depend on the
 * SDK. This file has the valid code; its users add their faults, or are valid plugins that tests
 * need in addition. */
#include <tenon/abi.h>

#define EXPORT __attribute__((visibility("default"), used))
#define IN_MANIFESTS __attribute__((section(TENON_MANIFEST_SECTION)))

/* CBOR by hand: T5 starts a text of five bytes. */
#define T0 "\x60"
#define T1 "\x61"
#define T2 "\x62"
#define T3 "\x63"
#define T4 "\x64"
#define T5 "\x65"
#define T6 "\x66"
#define T7 "\x67"
#define T8 "\x68"
#define T9 "\x69"
#define T10 "\x6a"
#define T11 "\x6b"
#define T12 "\x6c"
#define T13 "\x6d"
#define T14 "\x6e"
#define T15 "\x6f"
#define T16 "\x70"
#define T17 "\x71"
#define T18 "\x72"
#define T19 "\x73"
#define ONE "\x01"
#define TWO "\x02"
#define YES "\xf5"
#define NO "\xf4"
#define NOTHING "\xf6"
#define EMPTY "\x80"
#define LIST_OF_1 "\x81"
#define INPUT \
  "\xa5" T4 "name" T1 "x" T3 "doc" T0 T8 "optional" NO T8 "variadic" NO T5 "types" NOTHING
#define OUTPUT "\xa4" T4 "name" T1 "y" T3 "doc" T0 T6 "hidden" NO T5 "count" NOTHING
/* One input x, one output y, float32. NAME, DOC, VERSION and KERNELS_ELSEWHERE are CBOR, too. */
/* clang-format off */
#define MANIFEST(NAME, DOC, VERSION, KERNELS_ELSEWHERE) \
  MANIFEST_WITH(EMPTY, NAME, DOC, VERSION, KERNELS_ELSEWHERE)
#define MANIFEST_WITH(PARAMS, NAME, DOC, VERSION, KERNELS_ELSEWHERE)                        \
  "\xb5" T5 "tenon" ONE T4 "name" NAME T3 "doc" DOC T7 "version" VERSION T7 "aliases" EMPTY \
  T5 "types" LIST_OF_1 T7 "float32" T6 "inputs" LIST_OF_1 INPUT                             \
  T7 "outputs" LIST_OF_1 OUTPUT T6 "states" EMPTY T6 "params" PARAMS T7 "inplace" EMPTY     \
  T16 "backward_inplace" EMPTY T14 "backward_reads" NOTHING T11 "accumulates" NO            \
  T7 "strides" NO T6 "random" NO T11 "elementwise" NO                                       \
  T17 "kernels_elsewhere" KERNELS_ELSEWHERE                                                 \
  T9 "functions" LIST_OF_1 T7 "forward" T7 "renamed" EMPTY T5 "added" EMPTY
/* clang-format on */

static int32_t create(const tenon_attribute* attributes, uint64_t count, void** instance,
                      tenon_error* error) {
  static int object;
  (void)attributes, (void)count, (void)error;
  *instance = &object;
  return 0;
}
static void destroy(void* instance) {
  (void)instance;
}
static int32_t infer(const void* instance, tenon_infer* io) {
  (void)instance;
  io->outputs[0] = io->inputs[0];
  return 0;
}
static int32_t forward(void* instance, const tenon_call* call) {
  (void)instance, (void)call;
  return 0;
}

/* traits: bytes that tests find in the file and change, to distinguish builds */
#define FILE_MARK 0x1122334455667700
static const tenon_operator sound_table = {.size = sizeof(tenon_operator),
                                           .abi_major = TENON_ABI_MAJOR,
                                           .abi_minor = TENON_ABI_MINOR,
                                           .traits = FILE_MARK,
                                           .create = create,
                                           .destroy = destroy,
                                           .infer = infer,
                                           .forward = forward};

#define ONLY_MANIFEST(name, manifest) \
  EXPORT IN_MANIFESTS const char tenon_op_v1__##name[sizeof(manifest) - 1] = manifest;

#define OPERATOR(name, manifest, table)                                       \
  ONLY_MANIFEST(name, manifest)                                               \
  EXPORT const tenon_operator* tenon_get_v1__##name(const tenon_host* host) { \
    (void)host;                                                               \
    return table;                                                             \
  }

#define KERNEL(device, name, table)                                                          \
  EXPORT const tenon_operator* tenon_kernel_v1__##device##__##name(const tenon_host* host) { \
    (void)host;                                                                              \
    return table;                                                                            \
  }

#define RECORD(minor)                                                                     \
  EXPORT IN_MANIFESTS const tenon_plugin tenon_plugin_v1 = {.size = sizeof(tenon_plugin), \
                                                            .abi_major = TENON_ABI_MAJOR, \
                                                            .abi_minor = minor,           \
                                                            .sdk_version = 102,           \
                                                            .version = "1.2",             \
                                                            .compiler = "a C compiler"};
