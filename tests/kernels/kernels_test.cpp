// The CPU kernels of every instruction set this machine has, against formulas in double precision or against the
// portable ones.
#include "kernels/kernels.h"

#include <array>
#include <cstdlib>
#include <functional>

#include "kernels/reference.h"

using namespace chargpt;
using namespace chargpt::cpu;

namespace {

double phi(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

#if defined(__aarch64__)
constexpr const char* least = "neon";
#else
constexpr const char* least = "portable";
#endif

}  // namespace

TEST_CASE("kernels that every processor of the target runs are always there, and come last") {
  CHECK(std::string(kernels_up_to(instruction_set()).back()->name) == least);
  CHECK(&kernels() == kernels_up_to(instruction_set()).front());
}

TEST_CASE("ATEN_CPU_CAPABILITY limits our kernels as it limits LibTorch's") {
  const char* const word = std::getenv("ATEN_CPU_CAPABILITY");
  const auto limit = named_instruction_set(word != nullptr ? word : "");
  CHECK(instruction_set() == std::min(limit.value_or(InstructionSet::avx512), processor_instruction_set()));
  CHECK((bf16_kernels() == nullptr || instruction_set() == InstructionSet::avx512));
}

TEST_CASE("a limit is spelled as LibTorch spells it, and leaves what is below it") {
  CHECK(named_instruction_set("avx512") == InstructionSet::avx512);
  CHECK(named_instruction_set("avx2") == InstructionSet::avx2);
  CHECK(named_instruction_set("default") == InstructionSet::portable);
  for (const char* word : {"", "AVX2", "avx", "sse", "avx512_256"}) CHECK_FALSE(named_instruction_set(word));
  const auto widest = [](InstructionSet limit) { return std::string(kernels_up_to(limit).front()->name); };
  CHECK(widest(InstructionSet::portable) == least);
  CHECK(kernels_up_to(InstructionSet::portable).size() == 1);
#if defined(__x86_64__)
  CHECK(widest(InstructionSet::avx2) == "x86-64-v3");
  CHECK(widest(InstructionSet::avx512) == "x86-64-v4");
#endif
}

TEST_CASE("matmuls of any size, plain, transposed, packed and added to, touch their result alone") {
  for_all_kernels([](const Kernels& k) {
    for (const long M : {1L, 6L, 7L, 14L, 15L, 31L})
      for (const long N : {1L, 7L, 16L, 33L, 48L, 65L, 130L})
        for (const long K : {1L, 3L, 40L}) {
          INFO(M << " x " << N << " x " << K);
          const long lda = 48, ldb = 136, ldc = 144;
          const Floats a = numbers(std::max(M, K), lda), b = numbers(K, ldb, 1), before = numbers(M, ldc, 2);
          const auto sum = [&](long m, long n, bool transposed) {
            double total = 0;
            for (long d = 0; d < K; ++d)
              total += entry(a, transposed ? d * lda + m : m * lda + d) * entry(b, d * ldb + n);
            return total;
          };
          Floats c = before;
          k.matmul(M, N, K, a.data(), lda, b.data(), ldb, k.panel_width, c.data(), ldc, false);
          CHECK(error_of(c, M, ldc, ldc,
                         [&](long m, long n) { return n < N ? sum(m, n, false) : entry(before, m * ldc + n); }) < 1e-5);
          c = before;
          k.matmul_transposed_a(M, N, K, a.data(), lda, b.data(), ldb, k.panel_width, c.data(), ldc, true);
          CHECK(error_of(c, M, N, ldc, [&](long m, long n) { return entry(before, m * ldc + n) + sum(m, n, true); }) <
                1e-5);

          const long panels = (N + k.panel_width - 1) / k.panel_width;
          Floats dense(static_cast<std::size_t>(K * N)), transposed(static_cast<std::size_t>(K * N));
          for (long d = 0; d < K; ++d)
            for (long n = 0; n < N; ++n)
              entry(dense, d * N + n) = entry(transposed, n * K + d) = b[static_cast<std::size_t>(d * ldb + n)];
          Floats packed(static_cast<std::size_t>(panels * K * k.panel_width + k.slack)), other(packed.size());
          k.pack(0, panels, K, N, dense.data(), false, packed.data());
          k.pack(0, panels, K, N, transposed.data(), true, other.data());
          CHECK(packed == other);
          k.matmul(M, N, K, a.data(), lda, packed.data(), k.panel_width, K * k.panel_width, c.data(), ldc, false);
          CHECK(error_of(c, M, N, ldc, [&](long m, long n) { return sum(m, n, false); }) < 1e-5);
        }
  });
}

TEST_CASE("matvec of a row has the bits of that row in a matmul of many") {
  for_all_kernels([](const Kernels& k) {
    for (const long N : {1L, 16L, 33L, 65L, 128L, 300L})
      for (const bool add : {false, true}) {
        INFO(N << " columns");
        const long K = 40, panels = (N + k.panel_width - 1) / k.panel_width;
        const Floats a = numbers(3, K), b = numbers(K, N, 1), before = numbers(3, N, 2);
        Floats packed(static_cast<std::size_t>(panels * K * k.panel_width + k.slack)), many = before, one = before;
        k.pack(0, panels, K, N, b.data(), false, packed.data());
        k.matmul(3, N, K, a.data(), K, packed.data(), k.panel_width, K * k.panel_width, many.data(), N, add);
        k.matvec(N, K, a.data() + K, packed.data(), k.panel_width, K * k.panel_width, one.data() + N, add);
        CHECK(Floats(one.begin() + N, one.begin() + 2 * N) == Floats(many.begin() + N, many.begin() + 2 * N));
        CHECK(Floats(one.begin() + 2 * N, one.end()) == Floats(before.begin() + 2 * N, before.end()));
      }
  });
}

TEST_CASE("activations and their derivatives are the formulas' within 1e-6") {
  struct Row {
    ActivationKind kind;
    std::function<double(double)> value, derivative;
  };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto inner = [](double x) { return 1.5957691216057308 * (x + 0.044715 * x * x * x); };
  const auto inner_derivative = [](double x) { return 1.5957691216057308 * (1 + 0.134145 * x * x); };
  const std::vector<Row> rows{
      {ActivationKind::gelu, [](double x) { return x * phi(x); },
       [](double x) { return phi(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }},
      {ActivationKind::gelu_tanh, [&](double x) { return x * sigmoid(inner(x)); },
       [&](double x) {
         const double s = sigmoid(inner(x));
         return s + x * s * (1 - s) * inner_derivative(x);
       }},
      {ActivationKind::relu, [](double x) { return std::max(0.0, x); }, [](double x) { return x > 0 ? 1.0 : 0.0; }},
      {ActivationKind::relu2, [](double x) { return x > 0 ? x * x : 0.0; },
       [](double x) { return x > 0 ? 2 * x : 0.0; }},
      {ActivationKind::silu, [&](double x) { return x * sigmoid(x); },
       [&](double x) { return sigmoid(x) + x * sigmoid(x) * (1 - sigmoid(x)); }}};
  for_all_kernels([&](const Kernels& k) {
    for (const Row& row : rows) {
      Floats x(4001 + 256), y(x.size());
      for (long i = 0; i < 4001; ++i) entry(x, i) = static_cast<float>(i - 2000) / 200;  // -10 to 10
      const Floats before = x;
      k.activation(row.kind, 1, 4001, x.data(), 4001, y.data(), 4001);
      const auto near = [](double got, double expected) {
        return std::abs(got - expected) / std::max(1.0, std::abs(expected));
      };
      double worst = 0;
      for (long i = 0; i < 4001; ++i) {
        const double at_x = entry(before, i);
        worst = std::max({worst, near(entry(y, i), row.value(at_x)), near(entry(x, i), row.derivative(at_x))});
      }
      CHECK(worst < 1e-6);
    }
  });
}

TEST_CASE("a NaN stays one through every activation") {
  for_all_kernels([](const Kernels& k) {
    for (const ActivationKind kind : {ActivationKind::gelu, ActivationKind::gelu_tanh, ActivationKind::relu,
                                      ActivationKind::relu2, ActivationKind::silu}) {
      Floats x(300, std::nanf("")), y(300);
      k.activation(kind, 1, 19, x.data(), 19, y.data(), 19);
      for (long i = 0; i < 19; ++i) CHECK(std::isnan(entry(y, i)));
    }
  });
}

TEST_CASE("attention over cached keys and values is attention, for the last queries of any number") {
  for_all_kernels([](const Kernels& k) {
    for (const long T : {1L, 2L, 16L, 33L, 130L})
      for (const long hs : {1L, 6L, 32L})
        for (const long queries : {1L, 2L, 29L}) {
          if (queries > T) continue;
          INFO("T " << T << ", hs " << hs << ", " << queries << " queries");
          const long ld = 40, panels = (T + k.panel_width - 1) / k.panel_width;
          const Floats q = numbers(T, ld), keys = numbers(T, ld, 1), v = numbers(T, hs, 2);
          Floats expected(static_cast<std::size_t>(T * ld + 256)), o(expected.size()),
              stats(static_cast<std::size_t>(2 * T)),
              packed(static_cast<std::size_t>(panels * hs * k.panel_width + k.slack)),
              scratch(static_cast<std::size_t>(k.attention_scratch(T, hs) + k.slack));
          Floats values(static_cast<std::size_t>(T * ld + 256));
          k.copy(T, hs, v.data(), hs, values.data(), ld);
          const TransposedKeys transposed(k, T, hs, keys, ld);
          k.attention({.begin = 0, .end = T, .hs = hs, .ld = ld, .ldo = ld, .scale = 0.5F}, q.data(), transposed.keys(),
                      values.data(), ld, expected.data(), stats.data(), nullptr, 0, scratch.data());
          Floats dense(static_cast<std::size_t>(T * hs));
          k.copy(T, hs, keys.data(), ld, dense.data(), hs);
          k.pack(0, panels, hs, T, dense.data(), true, packed.data());
          const long first = T - queries;
          const HeadShape shape{.begin = first, .end = T, .hs = hs, .ld = ld, .ldo = ld, .scale = 0.5F};
          k.attention(shape, q.data() + first * ld, {packed.data(), k.panel_width, hs * k.panel_width}, v.data(), hs,
                      o.data(), stats.data(), nullptr, 0, scratch.data());
          CHECK(error_of(o, queries, hs, ld, [&](long i, long c) { return entry(expected, (first + i) * ld + c); }) <
                1e-6);
        }
  });
}

TEST_CASE("scores as large as 1e4 keep attention finite") {
  for_all_kernels([](const Kernels& k) {
    const long T = 20, hs = 4;
    Floats q = numbers(T, hs);
    for (float& x : q) x *= 100;
    Floats o(q.size()), stats(2 * T), scratch(static_cast<std::size_t>(k.attention_scratch(T, hs) + k.slack));
    k.attention({.begin = 0, .end = T, .hs = hs, .ld = hs, .ldo = hs, .scale = 1}, q.data(),
                TransposedKeys(k, T, hs, q, hs).keys(), q.data(), hs, o.data(), stats.data(), nullptr, 0,
                scratch.data());
    for (long i = 0; i < T * hs; ++i) CHECK(std::isfinite(entry(o, i)));
  });
}

TEST_CASE("dropout draws element i from word i mod 4 of Philox block i / 4, from any element on") {
  const DropoutMask drawn = some_mask(0.3);
  for_all_kernels([&](const Kernels& k) {
    Floats x(7 * 30, 1);
    k.dropout(drawn, 2 * 23, 5, 23, x.data(), 30);  // rows 2 to 6
    for (long r = 0; r < 5; ++r)
      for (long c = 0; c < 30; ++c)
        CHECK(x[static_cast<std::size_t>(r * 30 + c)] == (c < 23 ? factor(drawn, (r + 2) * 23 + c) : 1.0F));
  });
}

TEST_CASE("Nesterov's momentum moves on, looks ahead and shrinks the weights") {
  for_all_kernels([](const Kernels& k) {
    const NesterovFactors by{.kept = 0.5F, .fresh = 0.25F, .shrunk = 0.75F};
    Floats values{4, 8, -4, 1, 2}, moment{2, -2, 0, 1, 5}, ahead(5, 9.0F);
    k.nesterov(by, 4, Floats{4, 8, -4, 0}.data(), values.data(), moment.data(), ahead.data());
    CHECK(moment == Floats{2, 1, -1, 0.5F, 5});
    CHECK(ahead == Floats{2, 2.5F, -1.5F, 0.25F, 9});
    CHECK(values == Floats{3, 6, -3, 0.75F, 2});
  });
}

TEST_CASE("lerp moves towards the other by a part of the way") {
  for_all_kernels([](const Kernels& k) {
    Floats y{1, 2, 3, 4, 5};
    k.lerp(0.25F, 3, Floats{5, 2, -1}.data(), y.data());
    CHECK(y == Floats{2, 2, 2, 4, 5});
  });
}

// Kernels of one formula in two instruction sets are one template. What the widest computes is held against autograd by
// tests/engine; here each set is held against the portable one, at sizes that end anywhere in a register.

TEST_CASE("norms of both kinds, with gain and bias or without, and their gradients are alike") {
  const long rows = 3, ld = 48;
  const Floats x = numbers(rows, ld), dy = numbers(rows, ld, 1), gain = numbers(1, ld, 2), bias = numbers(1, ld, 3);
  for (const NormKind kind : {NormKind::layernorm, NormKind::rmsnorm})
    for (const bool affine : {false, true})
      for (const long width : {1L, 5L, 16L, 37L}) {
        INFO((kind == NormKind::layernorm ? "layernorm" : "rmsnorm") << " of " << width << ", affine " << affine);
        const float* const g = affine ? gain.data() : nullptr;
        check_alike([&](const Kernels& k) {
          Floats y(x.size()), stats(2 * rows), dx(x.size(), 1), dgain(x.size(), 1), dbias = dgain;
          k.norm(kind, rows, width, x.data(), ld, g, affine ? bias.data() : nullptr, 0.25F, y.data(), ld, stats.data());
          k.norm_backward(kind, rows, width, x.data(), ld, g, stats.data(), dy.data(), ld, dx.data(), ld,
                          affine ? dgain.data() : nullptr, affine ? dbias.data() : nullptr);
          return Buffers{y, stats, dx, dgain, dbias};
        });
      }
}

TEST_CASE("attention with and without dropout, and its gradients are alike, in one tile of queries or several blocks") {
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
        check_alike([&](const Kernels& k) {
          Floats o(d_o.size()), stats(static_cast<std::size_t>(2 * T)), dq(static_cast<std::size_t>(T * ldd), 9),
              dk = dq, dv = dq, scratch(static_cast<std::size_t>(k.attention_scratch(T, hs) + k.slack));
          k.attention(shape, q.data(), TransposedKeys(k, T, hs, keys, shape.ld).keys(), v.data(), shape.ld, o.data(),
                      stats.data(), mask, first_element, scratch.data());
          k.attention_backward(shape, q.data(), keys.data(), v.data(), o.data(), stats.data(), d_o.data(), dq.data(),
                               dk.data(), dv.data(), ldd, mask, first_element, scratch.data());
          return Buffers{o, dq, dk, dv};
        });
      }
}

TEST_CASE("heads that are normed and rotated by their position, and gradients back are alike") {
  const long rows = 5, T = 3, heads = 2;
  for (const long hs : {2L, 6L, 40L})
    for (const auto& [normed, rotated] : {std::pair{true, false}, {false, true}, {true, true}}) {
      INFO("hs " << hs << ", norm " << normed << ", rotation " << rotated);
      const long ld = heads * hs + 3;
      const Floats cosines = numbers(T, hs / 2, 2), sines = numbers(T, hs / 2, 3);
      const float* const c = rotated ? cosines.data() : nullptr;
      const float* const s = rotated ? sines.data() : nullptr;
      check_alike([&, is_normed = normed](const Kernels& k) {  // clang 14 captures no structured binding
        Floats values = numbers(rows, ld), gradients = numbers(rows, ld, 1), stats(10);
        float* const rstd = is_normed ? stats.data() : nullptr;
        k.qk_norm_rope(rows, T, heads, hs, values.data(), ld, 0.25F, rstd, c, s);
        k.qk_norm_rope_backward(rows, T, heads, hs, values.data(), ld, rstd, c, s, gradients.data(), ld);
        return Buffers{values, gradients, stats};
      });
    }
}

TEST_CASE("cross-entropy, its gradient and that of soft targets are alike, wherever the largest logit is in a row") {
  const long rows = 4, ld = 80;
  for (const long V : {1L, 5L, 16L, 65L})
    for (const long place : {0L, V / 2, V - 1})
      for (const float largest : {2.0F, 200.0F}) {
        INFO("V " << V << ", " << largest << " at " << place);
        const std::array<std::int64_t, rows> targets{0, V / 3, -1, V - 1};  // the third does not count
        check_alike([&](const Kernels& k) {
          Floats logits = numbers(rows, ld), losses(rows), q(static_cast<std::size_t>(rows * V + 256));
          for (long r = 0; r < rows; ++r) entry(logits, r * ld + place) = largest;
          k.add_softmax(rows, V, Floats(numbers(rows, V, 1)).data(), 0.25F, q.data());
          k.cross_entropy(rows, V, Floats(logits).data(), ld, targets.data(), 0, losses.data());
          Floats with_gradient(rows);
          k.cross_entropy(rows, V, logits.data(), ld, targets.data(), 0.5F, with_gradient.data());
          CHECK(losses == with_gradient);
          const Floats hard = logits;
          k.mix_targets(rows, V, targets.data(), q.data(), 0.3F, logits.data(), ld);
          return Buffers{losses, hard, logits, q};
        });
      }
}

TEST_CASE("convolutions and their gradients are alike") {
  const long ld = 48, T = 9;
  for (const long width : {1L, 16L, 37L})
    for (const long taps : {1L, 3L, 12L})
      for (const long seen : {0L, 1L, 8L}) {  // the rows behind those are convolved
        INFO("width " << width << ", taps " << taps << ", seen " << seen);
        const Floats x = numbers(T, ld), w = numbers(taps, width, 1), dy = numbers(T, ld, 2);
        check_alike([&](const Kernels& k) {
          Floats y(x.size()), dx(x.size()), dw(w.size(), 0.5F);
          k.convolve(T - seen, seen, width, taps, x.data() + seen * ld, ld, w.data(), y.data() + seen * ld, ld);
          k.convolve_backward(T, width, taps, x.data(), ld, w.data(), dy.data(), ld, dx.data(), ld, dw.data());
          return Buffers{y, dx, dw};
        });
      }
}

TEST_CASE("rows are added, multiplied, copied, filled, gated and summed alike, within their width") {
  const long rows = 3, width = 21, ld = 30, n = 4096 + 19;
  const Floats x = numbers(rows, ld), y = numbers(rows, ld, 1), row = numbers(1, width, 2), one = numbers(1, n),
               two = numbers(1, n, 1);
  const float* const others[] = {one.data(), two.data()};
  check_alike([&](const Kernels& k) {
    Floats added = y, multiplied = y, copied = y, filled = y, zeroed = y, sums = row, by_x = x, by_gate = y, gated = y,
           total = numbers(1, n, 3);
    k.add(rows, width, x.data(), ld, added.data(), ld);
    k.multiply(rows, width, x.data(), ld, multiplied.data(), ld);
    k.copy(rows, width, x.data(), ld, copied.data(), ld);
    k.broadcast_row(rows, width, row.data(), filled.data(), ld);
    k.broadcast_row(rows, width, nullptr, zeroed.data(), ld);
    k.add_column_sums(rows, width, x.data(), ld, sums.data());
    k.swiglu(rows, width, by_x.data(), by_gate.data(), ld, gated.data(), ld);
    const double squares = k.sum_buffers(total.data(), others, 2, n);
    return Buffers{added,
                   multiplied,
                   copied,
                   filled,
                   zeroed,
                   sums,
                   by_x,
                   by_gate,
                   gated,
                   total,
                   {static_cast<float>(squares / n)}};
  });
}

TEST_CASE("updates by AdamW are alike, and an element's bits do not depend on its place") {
  const long n = 1000;
  const AdamwFactors by{.scale = 0.5F,
                        .fresh1 = 0.1F,
                        .fresh2 = 0.01F,
                        .beta2 = 0.99F,
                        .eps = 0.01F,
                        .kept = 0.999F,
                        .step = 0.04F,
                        .inverse_root = 5.8F};
  const Floats g = numbers(1, n);
  check_alike([&](const Kernels& k) {
    const auto updated = [&](long cut) {
      Floats w = numbers(1, n, 1), m = numbers(1, n, 2), v = numbers(1, n, 3);
      for (float& value : v) value *= value;
      k.adamw(by, cut, g.data(), w.data(), m.data(), v.data());
      k.adamw(by, n - cut, g.data() + cut, w.data() + cut, m.data() + cut, v.data() + cut);
      return Buffers{w, m, v};
    };
    for (const long cut : {1L, 7L, 500L, 993L}) CHECK(updated(cut) == updated(n));
    return updated(n);
  });
}
