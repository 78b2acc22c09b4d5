# Every operator here has a CUDA kernel as well.
set(PLUGIN_CUDA ON)
# These are the SDK's loops around one function each, which the SDK's tests and the examples already
# run under AddressSanitizer. It would double this plugin's compile time in that build.
set(PLUGIN_OPTIONS -fno-sanitize=address)
