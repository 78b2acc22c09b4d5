// No fault: the kernel of kernel_elsewhere.cpp.
#define KERNEL
#include "kernel_elsewhere.cpp"
