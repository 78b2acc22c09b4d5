// doctest without main(): the tests' host code includes its header.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
