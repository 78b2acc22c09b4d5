#include "retain.hpp"

TENON_OPERATOR(retain, Retain)
