# Every operator here brings its CUDA kernel along.
set(PLUGIN_CUDA ON)
set(PLUGIN_JOINED ON)
# The SDK's loops around a function each: AddressSanitizer watches them in the tests of the SDK and in the examples. Here, it would double the
# time to compile in the build that has it.
set(PLUGIN_OPTIONS -fno-sanitize=address)
