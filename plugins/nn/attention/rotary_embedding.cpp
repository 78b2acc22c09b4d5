#include "rotary_embedding.hpp"

TENON_OPERATOR(rotary_embedding, RotaryEmbedding)
