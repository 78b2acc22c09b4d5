// What the host's library exports: the classes and functions that its public headers mark, and nothing else.
#pragma once
#include <tenon/visibility.hpp>

#define TENON_API __attribute__((visibility("default")))
