// doctest without a main(): the tests' host is compiled with its header.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
