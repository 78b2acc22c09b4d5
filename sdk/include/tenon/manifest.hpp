// The former path of detail/manifest.hpp; until 0.4.
#pragma once
#include "detail/manifest.hpp"
