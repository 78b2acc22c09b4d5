// Elementwise operations of the collectives, in the memory of the CPU or of a GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tenon/elementwise/convert.hpp>
#include <tenon/elementwise/for_each.hpp>
#include <tenon/fn.hpp>
#include <tenon/operator.hpp>
#include <type_traits>

#include "peers.hpp"

/// Binary functions of the left and the right operand, which are from two processes or sums over
/// processes.
namespace joining {

template <class T>
struct Sum {
  TENON_FN T operator()(T left, T right) const {
    if constexpr (std::is_integral_v<T>)  // overflow wraps around
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(left) +
                            static_cast<std::make_unsigned_t<T>>(right));
    else
      return static_cast<T>(left + right);
  }
};

template <class T>
struct Larger {
  TENON_FN T operator()(T left, T right) const {
    return left > right || left != left ? left : right;
  }
};

template <class T>
struct Smaller {
  TENON_FN T operator()(T left, T right) const {
    return left < right || left != left ? left : right;
  }
};

/// Divides an element by the number of processes; the second argument is ignored.
template <class T>
struct Quotient {
  int by;

  TENON_FN T operator()(T element, T) const {
    using Number = std::conditional_t<std::is_integral_v<T>, std::int64_t,
                                      std::conditional_t<sizeof(T) == 2, float, T>>;
    return static_cast<T>(static_cast<Number>(element) / static_cast<Number>(by));
  }
};

template <class T, class Visit>
void visit(Reduction reduction, Visit&& visit) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean:
      return visit(Sum<T>{});
    case Reduction::max:
      return visit(Larger<T>{});
    case Reduction::min:
      return visit(Smaller<T>{});
  }
}

/// Sets to[i] to function(to[i], from[i]) if `to` is the left operand, else to function(from[i],
/// to[i]).
template <class T, class Function>
struct Joined {
  T* to;
  const T* from;
  bool is_left;
  Function function;

  TENON_FN void operator()(std::int64_t i) const {
    to[i] = is_left ? function(to[i], from[i]) : function(from[i], to[i]);
  }
};

}  // namespace joining

/// Operations run in the order of the calls. One object serves one kernel call, which outlives it.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual void copy(void* to, const void* from, std::size_t bytes) const = 0;
  virtual void zero(void* to, std::size_t bytes) const = 0;
  /// Combines `count` elements at `from` into those at `to`; `is_left` says that `to` is the left
  /// operand.
  virtual void join(Reduction reduction, tenon::DType dtype, void* to, const void* from,
                    std::int64_t count, bool is_left) const = 0;
  virtual void divide(tenon::DType dtype, void* elements, std::int64_t count, int by) const = 0;
};

/// CPU memory.
class HostMemory : public Memory {
 public:
  explicit HostMemory(const tenon::Call& call) : call_(call) {}
  void copy(void* to, const void* from, std::size_t bytes) const override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void zero(void* to, std::size_t bytes) const override {
    if (bytes > 0) std::memset(to, 0, bytes);
  }
  void join(Reduction reduction, tenon::DType dtype, void* to, const void* from, std::int64_t count,
            bool is_left) const override {
    tenon::visit<tenon::numeric>(dtype, [&]<class T>() {
      joining::visit<T>(reduction, [&]<class Function>(Function function) {
        if (is_left)
          each(static_cast<T*>(to), static_cast<const T*>(from), count, function);
        else
          each(static_cast<T*>(to), static_cast<const T*>(from), count,
               [=](T own, T other) { return function(other, own); });
      });
    });
  }
  void divide(tenon::DType dtype, void* elements, std::int64_t count, int by) const override {
    tenon::visit<tenon::numeric>(dtype, [&]<class T>() {
      each(static_cast<T*>(elements), static_cast<const T*>(elements), count,
           joining::Quotient<T>{by});
    });
  }

 private:
  template <class T, class Function>
  void each(T* to, const T* from, std::int64_t count, const Function& function) const {
    call_.parallel_for(count, 65536, [=](std::int64_t begin, std::int64_t end) {
      tenon::elementwise::for_each(end - begin, [=](std::int64_t at) {
        to[begin + at] = function(to[begin + at], from[begin + at]);
      });
    });
  }

  const tenon::Call& call_;
};
