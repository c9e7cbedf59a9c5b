// Compiled with -ffp-contract=off, so that no compiler fuses operations; see CMakeLists.txt.
#include "base/random.h"

#include <cmath>

namespace chargpt {
namespace {

__extension__ typedef unsigned __int128 Wide;  // GCC and Clang; 64 x 64 -> 128 bits

constexpr std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
constexpr std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

/// Mixes seed and purpose into the key, so that all 128 bits of the counter are left for (a, b, block).
std::array<std::uint32_t, 2> stream_key(std::uint64_t seed, Purpose purpose) {
  const auto mixed = philox({static_cast<std::uint32_t>(purpose), 0, 0, 0}, {low(seed), high(seed)});
  return {mixed[0], mixed[1]};
}

std::uint64_t next64(RandomStream& stream) {
  const std::uint64_t first = stream.next();
  return first | static_cast<std::uint64_t>(stream.next()) << 32;
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t odd = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(odd) ^ counter[1] ^ key[0], low(odd), high(even) ^ counter[3] ^ key[1], low(even)};
    key[0] += 0x9E3779B9;  // Weyl sequences: the golden ratio and sqrt(3) - 1
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::uint64_t derive_seed(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint32_t b) {
  RandomStream stream(seed, purpose, a, b);
  return next64(stream);
}

RandomStream::RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint32_t b)
    : key_(stream_key(seed, purpose)), counter_{0, b, low(a), high(a)} {}

std::uint32_t RandomStream::next() {
  if (used_ == 4) {
    block_ = philox(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

double RandomStream::uniform() {
  return static_cast<double>(next64(*this) >> 11) * 0x1p-53;
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  Wide product = Wide{next64(*this)} * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;  // rejects the 2^64 mod bound surplus draws
    while (static_cast<std::uint64_t>(product) < threshold) product = Wide{next64(*this)} * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

namespace {

using Coefficients = std::array<double, 8>;  // of x^0, x^1, ...

double polynomial(const Coefficients& coefficients, double x) {
  double sum = coefficients[7];
  for (std::size_t i = 7; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

constexpr Coefficients a{3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                         1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                         3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr Coefficients b{1.0000000000000000000e0,  4.2313330701600911252e+1, 6.8718700749205790830e+2,
                         5.3941960214247511077e+3, 2.1213794301586595867e+4, 3.9307895800092710610e+4,
                         2.8729085735721942674e+4, 5.2264952788528545610e+3};
constexpr Coefficients c{1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                         3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                         2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr Coefficients d{1.0000000000000000000e0,   2.05319162663775882187e0,  1.67638483018380384940e0,
                         6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                         5.47593808499534494600e-4, 1.05075007164441684324e-9};
constexpr Coefficients e{6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                         2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                         2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr Coefficients f{1.0000000000000000000e0,   5.99832206555887937690e-1, 1.36929880922735805310e-1,
                         1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                         1.42151175831644588870e-7, 2.04426310338993978564e-15};

}  // namespace

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double tail =
      r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6) : polynomial(e, r - 5) / polynomial(f, r - 5);
  return q < 0 ? -tail : tail;
}

double normal_of(std::uint32_t bits) {
  return normal_quantile((static_cast<double>(bits) + 0.5) * 0x1p-32);
}

}  // namespace chargpt
