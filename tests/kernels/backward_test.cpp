// What kernels give back, and their forward passes beside it, against plain loops in double precision.
#include <array>

#include "kernels/reference.h"

using namespace chargpt;
using namespace chargpt::cpu;

namespace {

using Doubles = std::vector<double>;

double& at(Doubles& values, long i) {
  return values[static_cast<std::size_t>(i)];
}

Doubles zeros(long count) {
  return Doubles(static_cast<std::size_t>(count), 0);
}

/// Largest difference between the first columns of `got` and a dense matrix.
double error_of(const Floats& got, long rows, long columns, long ld, Doubles expected) {
  return cpu::error_of(got, rows, columns, ld, [&](long r, long c) { return at(expected, r * columns + c); });
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

struct NormReference {
  Doubles y, dx, dgain, dbias;
};

NormReference norm_reference(NormKind kind, long rows, long width, long ld, const Floats& x, const Floats* gain,
                             const Floats* bias, double eps, const Floats& dy) {
  NormReference result{zeros(rows * width), zeros(rows * width), zeros(width), zeros(width)};
  const auto n_columns = static_cast<double>(width);
  for (long r = 0; r < rows; ++r) {
    double mean = 0, squares = 0, mean_g = 0, mean_gn = 0;
    if (kind == NormKind::layernorm)
      for (long c = 0; c < width; ++c) mean += entry(x, r * ld + c) / n_columns;
    for (long c = 0; c < width; ++c) squares += std::pow(entry(x, r * ld + c) - mean, 2) / n_columns;
    const double rstd = 1 / std::sqrt(squares + eps);
    const auto n = [&](long c) { return (entry(x, r * ld + c) - mean) * rstd; };
    const auto g = [&](long c) { return entry(dy, r * ld + c) * (gain != nullptr ? entry(*gain, c) : 1); };
    for (long c = 0; c < width; ++c) {
      if (kind == NormKind::layernorm) mean_g += g(c) / n_columns;
      mean_gn += g(c) * n(c) / n_columns;
    }
    for (long c = 0; c < width; ++c) {
      at(result.y, r * width + c) =
          n(c) * (gain != nullptr ? entry(*gain, c) : 1) + (bias != nullptr ? entry(*bias, c) : 0);
      at(result.dx, r * width + c) = rstd * (g(c) - mean_g - n(c) * mean_gn);
      at(result.dgain, c) += entry(dy, r * ld + c) * n(c);
      at(result.dbias, c) += entry(dy, r * ld + c);
    }
  }
  return result;
}

struct AttentionReference {
  Doubles o, dq, dk, dv;
};

/// `mask` null: no dropout.
AttentionReference attention_reference(const HeadShape& s, const Floats& q, const Floats& k, const Floats& v,
                                       const Floats& d_o, const DropoutMask* mask, long first_element) {
  AttentionReference result{zeros(s.end * s.hs), zeros(s.end * s.hs), zeros(s.end * s.hs), zeros(s.end * s.hs)};
  for (long i = 0; i < s.end; ++i) {
    Doubles p = zeros(i + 1), dp = zeros(i + 1), kept = zeros(i + 1);
    double total = 0, mean_dp = 0;
    for (long j = 0; j <= i; ++j) {
      double score = 0;
      for (long c = 0; c < s.hs; ++c) score += entry(q, i * s.ld + c) * entry(k, j * s.ld + c);
      total += at(p, j) = std::exp(static_cast<double>(s.scale) * score);
      at(kept, j) = mask != nullptr ? static_cast<double>(factor(*mask, first_element + i * s.end + j)) : 1;
      for (long c = 0; c < s.hs; ++c) at(dp, j) += at(kept, j) * entry(d_o, i * s.ldo + c) * entry(v, j * s.ld + c);
    }
    for (double& weight : p) weight /= total;
    for (long j = 0; j <= i; ++j) mean_dp += at(p, j) * at(dp, j);
    for (long j = 0; j <= i; ++j) {
      const double weight = at(p, j) * at(kept, j);
      const double ds = static_cast<double>(s.scale) * at(p, j) * (at(dp, j) - mean_dp);
      for (long c = 0; c < s.hs; ++c) {
        at(result.o, i * s.hs + c) += weight * entry(v, j * s.ld + c);
        at(result.dv, j * s.hs + c) += weight * entry(d_o, i * s.ldo + c);
        at(result.dq, i * s.hs + c) += ds * entry(k, j * s.ld + c);
        at(result.dk, j * s.hs + c) += ds * entry(q, i * s.ld + c);
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("norms of both kinds with any eps, gain and bias or without, forward and added to backward") {
  const long rows = 3, ld = 48;
  const double eps = 0.25;
  for_all_kernels([&](const Kernels& k) {
    for (const NormKind kind : {NormKind::layernorm, NormKind::rmsnorm})
      for (const bool affine : {false, true})
        for (const long width : {1L, 5L, 16L, 37L}) {
          INFO((kind == NormKind::layernorm ? "layernorm" : "rmsnorm") << " of " << width << ", affine " << affine);
          const Floats x = numbers(rows, ld), dy = numbers(rows, ld, 1), gain = numbers(1, width, 2),
                       bias = numbers(1, width, 3);
          const auto expected =
              norm_reference(kind, rows, width, ld, x, affine ? &gain : nullptr, affine ? &bias : nullptr, eps, dy);
          Floats y(x.size()), stats(2 * rows), dx(x.size(), 1), dgain(static_cast<std::size_t>(width), 1),
              dbias = dgain;
          k.norm(kind, rows, width, x.data(), ld, affine ? gain.data() : nullptr, affine ? bias.data() : nullptr,
                 static_cast<float>(eps), y.data(), ld, stats.data());
          CHECK(error_of(y, rows, width, ld, expected.y) < 1e-5);
          k.norm_backward(kind, rows, width, x.data(), ld, affine ? gain.data() : nullptr, stats.data(), dy.data(), ld,
                          dx.data(), ld, affine ? dgain.data() : nullptr, affine ? dbias.data() : nullptr);
          const auto added = [](Doubles values) {
            for (double& value : values) value += 1;
            return values;
          };
          CHECK(error_of(dx, rows, width, ld, added(expected.dx)) < 1e-5);
          CHECK(error_of(dgain, 1, width, width, affine ? added(expected.dgain) : added(zeros(width))) < 1e-5);
          CHECK(error_of(dbias, 1, width, width, affine ? added(expected.dbias) : added(zeros(width))) < 1e-5);
        }
  });
}

TEST_CASE("attention with and without dropout, and its gradients, in one tile of queries or several blocks") {
  for_all_kernels([](const Kernels& k) {
    for (const long T : {1L, 2L, 15L, 16L, 33L, 130L, 300L})
      for (const long hs : {1L, 6L, 32L})
        for (const double rate : {0.0, 0.3}) {
          INFO("T " << T << ", hs " << hs << ", dropout " << rate);
          const HeadShape shape{.begin = 0, .end = T, .hs = hs, .ld = 40, .ldo = 36, .mask_ld = T, .scale = 0.5F};
          const long first_element = 13, ldd = 44;
          const Floats q = numbers(T, shape.ld), keys = numbers(T, shape.ld, 1), v = numbers(T, shape.ld, 2),
                       d_o = numbers(T, shape.ldo, 3);
          const DropoutMask drawn = some_mask(rate);
          const DropoutMask* const mask = rate > 0 ? &drawn : nullptr;
          const auto expected = attention_reference(shape, q, keys, v, d_o, mask, first_element);
          Floats o(d_o.size()), stats(static_cast<std::size_t>(2 * T)),
              scratch(static_cast<std::size_t>(k.attention_scratch(T, hs) + k.slack));
          k.attention(shape, q.data(), TransposedKeys(k, T, hs, keys, shape.ld).keys(), v.data(), shape.ld, o.data(),
                      stats.data(), mask, first_element, scratch.data());
          CHECK(error_of(o, T, hs, shape.ldo, expected.o) < 1e-5);
          Floats dq(static_cast<std::size_t>(T * ldd), 9), dk = dq, dv = dq;
          k.attention_backward(shape, q.data(), keys.data(), v.data(), o.data(), stats.data(), d_o.data(), dq.data(),
                               dk.data(), dv.data(), ldd, mask, first_element, scratch.data());
          CHECK(error_of(dq, T, hs, ldd, expected.dq) < 1e-5);
          CHECK(error_of(dk, T, hs, ldd, expected.dk) < 1e-5);
          CHECK(error_of(dv, T, hs, ldd, expected.dv) < 1e-5);
        }
  });
}

TEST_CASE("heads are normed and rotated by their position, and gradients back") {
  const long rows = 5, T = 3, heads = 2;
  const double eps = 0.25;
  for_all_kernels([&](const Kernels& k) {
    for (const long hs : {2L, 6L, 40L})
      for (const auto& [normed, rotated] : {std::pair{true, false}, {false, true}, {true, true}}) {
        INFO("hs " << hs << ", norm " << normed << ", rotation " << rotated);
        const long width = heads * hs, ld = width + 3, half = hs / 2;
        const Floats x = numbers(rows, ld), dy = numbers(rows, ld, 1), angles = numbers(T, half, 2);
        Floats cosines = angles, sines = angles;
        for (float& value : cosines) value = std::cos(value);
        for (float& value : sines) value = std::sin(value);
        Doubles y = zeros(rows * width), dx = zeros(rows * width);
        for (long r = 0; r < rows; ++r)
          for (long begin = 0; begin < width; begin += hs) {
            double squares = 0, mean_gn = 0;
            for (long c = 0; c < hs; ++c)
              squares += std::pow(entry(x, r * ld + begin + c), 2) / static_cast<double>(hs);
            const double rstd = normed ? 1 / std::sqrt(squares + eps) : 1;
            const auto n = [&](long c) { return rstd * entry(x, r * ld + begin + c); };
            Doubles g = zeros(hs);  // by what is normed
            for (long i = 0; i < half; ++i) {
              const double angle = rotated ? entry(angles, r % T * half + i) : 0, c = std::cos(angle),
                           s = std::sin(angle);
              const double da = entry(dy, r * ld + begin + i), db = entry(dy, r * ld + begin + half + i);
              at(y, r * width + begin + i) = n(i) * c - n(half + i) * s;
              at(y, r * width + begin + half + i) = n(half + i) * c + n(i) * s;
              at(g, i) = da * c + db * s;
              at(g, half + i) = db * c - da * s;
            }
            for (long c = 0; c < hs; ++c) mean_gn += at(g, c) * n(c) / static_cast<double>(hs);
            for (long c = 0; c < hs; ++c)
              at(dx, r * width + begin + c) = normed ? rstd * (at(g, c) - n(c) * mean_gn) : at(g, c);
          }
        Floats values = x, gradients = dy, stats(static_cast<std::size_t>(rows * heads));
        float* const rstd = normed ? stats.data() : nullptr;
        const float* const c = rotated ? cosines.data() : nullptr;
        const float* const s = rotated ? sines.data() : nullptr;
        k.qk_norm_rope(rows, T, heads, hs, values.data(), ld, static_cast<float>(eps), rstd, c, s);
        CHECK(error_of(values, rows, width, ld, y) < 1e-5);
        k.qk_norm_rope_backward(rows, T, heads, hs, values.data(), ld, rstd, c, s, gradients.data(), ld);
        CHECK(error_of(gradients, rows, width, ld, dx) < 1e-5);
        for (long r = 0; r < rows; ++r)
          CHECK(values[static_cast<std::size_t>(r * ld + width)] == entry(x, r * ld + width));
      }
  });
}

TEST_CASE("swiglu is x times silu of the gate, and leaves both derivatives") {
  const long rows = 2, width = 21, ld = 30;
  for_all_kernels([&](const Kernels& k) {
    const Floats x = numbers(rows, ld), gate = numbers(rows, ld, 1);
    Floats by_x = x, by_gate = gate, y(x.size());
    k.swiglu(rows, width, by_x.data(), by_gate.data(), ld, y.data(), ld);
    const auto silu = [&](long i) { return entry(gate, i) * sigmoid(entry(gate, i)); };
    CHECK(cpu::error_of(y, rows, width, ld, [&](long r, long c) { return entry(x, r * ld + c) * silu(r * ld + c); }) <
          1e-6);
    CHECK(cpu::error_of(by_x, rows, width, ld, [&](long r, long c) { return silu(r * ld + c); }) < 1e-6);
    CHECK(cpu::error_of(by_gate, rows, width, ld, [&](long r, long c) {
            const double g = entry(gate, r * ld + c), s = sigmoid(g);
            return entry(x, r * ld + c) * (s + g * s * (1 - s));
          }) < 1e-6);
  });
}

TEST_CASE("cross-entropy and its gradient, where the largest logit is anywhere in a row of any length") {
  const long ld = 80;
  for_all_kernels([&](const Kernels& k) {
    for (const long V : {1L, 5L, 16L, 65L})
      for (const long place : {0L, V / 2, V - 1})
        for (const float largest : {2.0F, 200.0F}) {
          INFO("V " << V << ", " << largest << " at " << place);
          Floats logits = numbers(3, ld), losses(3);
          for (long r = 0; r < 3; ++r) entry(logits, r * ld + place) = largest;
          const std::array<std::int64_t, 3> targets{0, V / 3, V - 1};
          const Floats before = logits;
          Doubles gradient = zeros(3 * V);
          k.cross_entropy(3, V, Floats(logits).data(), ld, targets.data(), 0, losses.data());
          const Floats alone = losses;
          k.cross_entropy(3, V, logits.data(), ld, targets.data(), 0.5F, losses.data());
          CHECK(losses == alone);
          for (long r = 0; r < 3; ++r) {
            const auto target = targets[static_cast<std::size_t>(r)];
            const auto weight = [&](long v) {
              return std::exp(entry(before, r * ld + v) - static_cast<double>(largest));
            };
            double total = 0;
            for (long v = 0; v < V; ++v) total += weight(v);
            for (long v = 0; v < V; ++v) at(gradient, r * V + v) = 0.5 * (weight(v) / total - (v == target ? 1 : 0));
            CHECK(entry(losses, r) ==
                  Approx(std::log(total) + static_cast<double>(largest) - entry(before, r * ld + target)));
            CHECK(entry(logits, r * ld + V) == entry(before, r * ld + V));
          }
          CHECK(error_of(logits, 3, V, ld, gradient) < 1e-6);
        }
  });
}

TEST_CASE("the gradient of soft targets is that of their cross-entropy, by differences in double precision") {
  const long ld = 80, rows = 4;
  const std::array<std::int64_t, 4> targets{0, 2, -1, 4};  // the third does not count
  for_all_kernels([&](const Kernels& k) {
    for (const long V : {5L, 16L, 65L})
      for (const double w : {0.0, 0.3, 1.0}) {
        INFO("V " << V << ", weight " << w);
        const Floats before = numbers(rows, ld);
        Floats others = numbers(rows, V, 2), q(others.size()), logits = before, losses(static_cast<std::size_t>(rows));
        k.add_softmax(rows, V, Floats(numbers(rows, V, 1)).data(), 0.25F, q.data());
        k.add_softmax(rows, V, others.data(), 0.75F, q.data());
        const auto loss = [&](long r, const Doubles& row) {  // of one row's logits
          double total = 0, cross = 0;
          for (const double logit : row) total += std::exp(logit);
          for (long v = 0; v < V; ++v)
            cross -= ((targets[static_cast<std::size_t>(r)] == v ? 1 - w : 0) + w * entry(q, r * V + v)) *
                     (row[static_cast<std::size_t>(v)] - std::log(total));
          return cross;
        };
        Doubles gradient = zeros(rows * V);
        for (long r = 0; r < rows; ++r) {
          if (targets[static_cast<std::size_t>(r)] < 0) continue;
          double sum = 0;
          for (long v = 0; v < V; ++v) sum += entry(q, r * V + v);
          CHECK(sum == Approx(1).epsilon(1e-6));
          Doubles row;
          for (long v = 0; v < V; ++v) row.push_back(entry(before, r * ld + v));
          for (long v = 0; v < V; ++v) {
            constexpr double step = 1e-5;
            Doubles up = row, down = row;
            at(up, v) += step;
            at(down, v) -= step;
            at(gradient, r * V + v) = 0.5 * (loss(r, up) - loss(r, down)) / (2 * step);
          }
        }
        Floats plain = before;
        k.cross_entropy(rows, V, plain.data(), ld, targets.data(), 0.5F, losses.data());
        k.cross_entropy(rows, V, logits.data(), ld, targets.data(), 0.5F, losses.data());
        k.mix_targets(rows, V, targets.data(), q.data(), static_cast<float>(0.5 * w), logits.data(), ld);
        CHECK(error_of(logits, rows, V, ld, gradient) < 1e-6);
        CHECK(entry(logits, V) == entry(before, V));
        if (w == 0) CHECK(logits == plain);
      }
  });
}

TEST_CASE("rows are added, multiplied, copied, filled and summed within their width") {
  const long rows = 3, width = 21, ld = 30;
  for_all_kernels([&](const Kernels& k) {
    const Floats x = numbers(rows, ld), before = numbers(rows, ld, 1), row = numbers(1, width, 2);
    const auto check = [&](const Floats& got, auto&& expected) {
      CHECK(cpu::error_of(got, rows, ld, ld, [&](long r, long c) {
              return c < width ? expected(entry(x, r * ld + c), entry(before, r * ld + c), c)
                               : entry(before, r * ld + c);
            }) < 1e-6);
    };
    Floats y = before;
    k.add(rows, width, x.data(), ld, y.data(), ld);
    check(y, [](double a, double b, long) { return a + b; });
    k.multiply(rows, width, x.data(), ld, (y = before).data(), ld);
    check(y, [](double a, double b, long) { return a * b; });
    k.copy(rows, width, x.data(), ld, (y = before).data(), ld);
    check(y, [](double a, double, long) { return a; });
    k.broadcast_row(rows, width, row.data(), (y = before).data(), ld);
    check(y, [&](double, double, long c) { return entry(row, c); });
    k.broadcast_row(rows, width, nullptr, (y = before).data(), ld);
    check(y, [](double, double, long) { return 0.0; });
    Floats sums = row;
    k.add_column_sums(rows, width, x.data(), ld, sums.data());
    CHECK(cpu::error_of(sums, 1, width, width, [&](long, long c) {
            return entry(row, c) + entry(x, c) + entry(x, ld + c) + entry(x, 2 * ld + c);
          }) < 1e-6);
  });
}

TEST_CASE("long buffers are summed block by block, none left out") {
  for_all_kernels([](const Kernels& k) {
    const long n = 4096 + 19;
    Floats to = numbers(1, n);
    const Floats before = to, one = numbers(1, n, 1), two = numbers(1, n, 2);
    const float* const others[] = {one.data(), two.data()};
    const double squares = k.sum_buffers(to.data(), others, 2, n);
    double expected = 0;
    for (long i = 0; i < n; ++i) expected += std::pow(entry(to, i), 2);
    CHECK(cpu::error_of(to, 1, n, n, [&](long, long i) { return entry(before, i) + entry(one, i) + entry(two, i); }) <
          1e-6);
    CHECK(squares == Approx(expected).epsilon(1e-5));
    CHECK(to[static_cast<std::size_t>(n)] == before[static_cast<std::size_t>(n)]);
  });
}
