// The former name of declarations.hpp; until 0.4.
#pragma once
#include "declarations.hpp"
