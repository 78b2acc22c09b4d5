#include "adamw.hpp"

TENON_OPERATOR(adamw, AdamW)
