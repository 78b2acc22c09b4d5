// The symbols that the host's library exports: the marked classes and functions of its public
// headers, and nothing else.
#pragma once
#include <tenon/detail/visibility.hpp>

#define TENON_API __attribute__((visibility("default")))
