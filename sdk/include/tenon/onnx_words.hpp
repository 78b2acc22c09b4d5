// The former name of onnx_declarations.hpp; until 0.4.
#pragma once
#include "onnx_declarations.hpp"
