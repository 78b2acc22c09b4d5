#include "broadcast_to.hpp"

TENON_OPERATOR(broadcast_to, BroadcastTo)
