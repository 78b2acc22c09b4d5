// Registers the operators of this plugin.
#include "argmax.hpp"
#include "cumulative.hpp"
#include "extremum.hpp"
#include "prod.hpp"
#include "sum.hpp"
#include "top_k.hpp"

/// The CPU kernel of a reduction, which reports its algorithm.
template <class Op>
struct OnCpu : Op {
  std::string algorithm(const tenon::Infer& io) const { return this->algorithm_on_cpu(io); }
};

TENON_OPERATOR(argmax, OnCpu<Argmax>)
TENON_OPERATOR(argmin, OnCpu<Argmin>)
TENON_OPERATOR(cumprod, Cumprod)
TENON_OPERATOR(cumsum, Cumsum)
TENON_OPERATOR(max, OnCpu<Max>)
TENON_OPERATOR(min, OnCpu<Min>)
TENON_OPERATOR(prod, OnCpu<Prod>)
TENON_OPERATOR(sum, OnCpu<Sum<Added>>)
TENON_OPERATOR(mean, OnCpu<Sum<Averaged>>)
TENON_OPERATOR(top_k, TopK)
