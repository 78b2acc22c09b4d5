// Former path of chunks.hpp, until 0.4.
#pragma once
#include "chunks.hpp"
