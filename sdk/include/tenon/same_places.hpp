// The former name of same_sparsity.hpp; until 0.4.
#pragma once
#include "same_sparsity.hpp"
