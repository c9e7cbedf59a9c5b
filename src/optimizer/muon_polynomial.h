// The polynomial of muon's steps, x -> a x + b (x x') x + c (x x')^2 x: chosen for the steepest slope at 0 that leaves
// singular values near 1. Source: Jordan et al. (2024).
#pragma once

namespace chargpt {

constexpr double muon_a = 3.4445, muon_b = -4.7750, muon_c = 2.0315;
constexpr int muon_steps = 5;
constexpr double muon_eps = 1e-7;  ///< added to the norm that the first x is divided by

}  // namespace chargpt
