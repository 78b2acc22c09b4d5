// The former name of version_declarations.hpp; until 0.4.
#pragma once
#include "version_declarations.hpp"
