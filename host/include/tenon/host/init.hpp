// Initialization of variables.
#pragma once
#include <cstdint>

namespace tenon {

/// How a variable without elements is initialized. Random values depend on a seed and the
/// variable's name. automatic: as declared by the operator that reads it, otherwise zeros for
/// vectors and xavier for more dimensions.
struct Init {
  enum class Kind : std::uint8_t {
    automatic,
    zeros,
    ones,
    uniform,
    normal,
    xavier,
    he,
    value
  } kind = Kind::automatic;
  double a = 0, b = 0;  ///< uniform: in [a, b); normal: mean a, standard deviation b; value: a
  friend bool operator==(const Init&, const Init&) = default;

  static constexpr Init zeros() { return {Kind::zeros}; }
  static constexpr Init ones() { return {Kind::ones}; }
  static constexpr Init value(double each) { return {Kind::value, each}; }
  static constexpr Init uniform(double from, double below) { return {Kind::uniform, from, below}; }
  static constexpr Init normal(double mean, double deviation) {
    return {Kind::normal, mean, deviation};
  }
  static constexpr Init xavier() {
    return {Kind::xavier};
  }  ///< uniform within sqrt(6 / (in + out)): Glorot and Bengio, 2010
  static constexpr Init he() {
    return {Kind::he};
  }  ///< normal with standard deviation sqrt(2 / in): He et al., 2015
};

}  // namespace tenon
