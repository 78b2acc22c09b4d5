// The former path of detail/registration.hpp; until 0.4.
#pragma once
#include "detail/registration.hpp"
