// The CPU kernels of every instruction set this machine has, against the formulas in double precision; backward passes
// are in backward_test.cpp.
#include "kernels/kernels.h"

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
  CHECK(std::string(all_kernels().back()->name) == least);
  CHECK(&kernels() == all_kernels().front());
}

TEST_CASE("ATEN_CPU_CAPABILITY limits our kernels as it limits LibTorch's") {
  const char* const word = std::getenv("ATEN_CPU_CAPABILITY");
  const auto limit = named_instruction_set(word != nullptr ? word : "");
  CHECK(instruction_set() == std::min(limit.value_or(InstructionSet::avx512), processor_instruction_set()));
  CHECK(all_kernels() == kernels_up_to(instruction_set()));
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

TEST_CASE("a convolution adds the last tokens of its window, weighted, and no more than are there") {
  for_all_kernels([](const Kernels& k) {
    const long ld = 48, T = 9;
    for (const long width : {1L, 16L, 37L})
      for (const long taps : {1L, 3L, 12L}) {
        INFO("width " << width << ", taps " << taps);
        const Floats x = numbers(T, ld), w = numbers(taps, width, 1), dy = numbers(T, ld, 2);
        const auto reached = [&](long t) { return std::min(taps, t + 1); };
        for (const long seen : {0L, 1L, 8L}) {  // the rows behind those are convolved
          Floats y(x.size());
          k.convolve(T - seen, seen, width, taps, x.data() + seen * ld, ld, w.data(), y.data() + seen * ld, ld);
          const double error = error_of(y, T, width, ld, [&](long t, long c) {
            double sum = t < seen ? 0 : entry(x, t * ld + c);
            for (long j = 0; t >= seen && j < reached(t); ++j)
              sum += entry(w, j * width + c) * entry(x, (t - j) * ld + c);
            return sum;
          });
          CHECK(error < 1e-5);
        }
        Floats dx(x.size()), dw(w.size(), 0.5F);
        k.convolve_backward(T, width, taps, x.data(), ld, w.data(), dy.data(), ld, dx.data(), ld, dw.data());
        CHECK(error_of(dx, T, width, ld, [&](long t, long c) {
                double sum = entry(dy, t * ld + c);
                for (long j = 0; j < taps && t + j < T; ++j)
                  sum += entry(w, j * width + c) * entry(dy, (t + j) * ld + c);
                return sum;
              }) < 1e-5);
        CHECK(error_of(dw, taps, width, width, [&](long j, long c) {
                double sum = 0.5;  // added to
                for (long t = j; t < T; ++t) sum += entry(dy, t * ld + c) * entry(x, (t - j) * ld + c);
                return sum;
              }) < 1e-5);
        CHECK(entry(dw, taps * width) == 0.5);
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

TEST_CASE("an update by AdamW is the formula's, and an element's bits do not depend on its place") {
  const long n = 1000;
  const double scale = 0.5, beta1 = 0.9, beta2 = 0.99, rate = 0.01, decay = 0.1, eps = 0.01;
  const double correction1 = 1 - std::pow(beta1, 3), correction2 = 1 - std::pow(beta2, 3);
  const AdamwFactors by{.scale = static_cast<float>(scale),
                        .fresh1 = static_cast<float>(1 - beta1),
                        .fresh2 = static_cast<float>(1 - beta2),
                        .beta2 = static_cast<float>(beta2),
                        .eps = static_cast<float>(eps),
                        .kept = static_cast<float>(1 - rate * decay),
                        .step = static_cast<float>(rate / correction1),
                        .inverse_root = static_cast<float>(1 / std::sqrt(correction2))};
  const Floats g = numbers(1, n), w = numbers(1, n, 1), m = numbers(1, n, 2);
  Floats v = numbers(1, n, 3);
  for (float& value : v) value *= value;
  for_all_kernels([&](const Kernels& k) {
    Floats values = w, moment1 = m, moment2 = v;
    k.adamw(by, n, g.data(), values.data(), moment1.data(), moment2.data());
    const auto first = [&](long i) { return beta1 * entry(m, i) + (1 - beta1) * scale * entry(g, i); };
    const auto second = [&](long i) { return beta2 * entry(v, i) + (1 - beta2) * std::pow(scale * entry(g, i), 2); };
    CHECK(error_of(moment1, 1, n, n, [&](long, long i) { return first(i); }) < 2e-7);
    CHECK(error_of(moment2, 1, n, n, [&](long, long i) { return second(i); }) < 2e-7);
    CHECK(error_of(values, 1, n, n, [&](long, long i) {
            return entry(w, i) * (1 - rate * decay) -
                   rate / correction1 * first(i) / (std::sqrt(second(i) / correction2) + eps);
          }) < 1e-6);
    for (const long cut : {1L, 7L, 500L, 993L}) {
      Floats parts = w, parts1 = m, parts2 = v;
      k.adamw(by, cut, g.data(), parts.data(), parts1.data(), parts2.data());
      k.adamw(by, n - cut, g.data() + cut, parts.data() + cut, parts1.data() + cut, parts2.data() + cut);
      CHECK(parts == values);
      CHECK(parts1 == moment1);
      CHECK(parts2 == moment2);
    }
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
