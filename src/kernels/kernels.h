// The arithmetic of a step on the CPU as plain functions on float pointers, compiled once per instruction set and
// chosen when the program starts: the widest that the processor runs and $ATEN_CPU_CAPABILITY, LibTorch's own limit,
// allows. Matrices are row-major; `ld…` is the distance between rows in floats. Knows no tensor, no thread and no
// model.
//
// Matmuls and attention may read up to `Kernels::slack` floats behind the matrix B: buffers are that much longer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/bf16.h"

namespace chargpt::cpu {

/// The dropout mask of one place in the model: what model/dropout.h draws under (seed, layer). Element `first_element`
/// of it is element 0 of the tensor that a kernel is given.
struct DropoutMask {
  std::uint32_t key[2];  ///< the seed
  std::uint32_t layer;
  std::uint64_t threshold;  ///< random words below this drop
  float scale;              ///< of what is kept, 1 / (1 - rate)
};

/// One head of one sequence: queries of positions `begin` to `end` - 1 over keys and values of positions 0 to `end`
/// - 1. q (end - begin, hs) has rows `ld` apart, o (end - begin, hs) rows `ldo` apart. A dropout mask of the weights
/// has rows `mask_ld` apart.
struct HeadShape {
  long begin, end, hs, ld, ldo, mask_ld = 0;
  float scale = 1;  ///< of the scores
};

/// Keys of a head (hs, positions), as the matrix B of a matmul.
struct HeadKeys {
  const float* values;
  long ld, panel_stride;
};

enum class NormKind { layernorm, rmsnorm };
enum class ActivationKind { gelu, gelu_tanh, relu, relu2, silu };

/// Of an update by AdamW; see updates.h.
struct AdamwFactors {
  float scale;           ///< of the gradients: clipping
  float fresh1, fresh2;  ///< 1 - beta1, 1 - beta2
  float beta2, eps;
  float kept;          ///< 1 - rate * weight decay
  float step;          ///< rate / (1 - beta1^t)
  float inverse_root;  ///< 1 / sqrt(1 - beta2^t)
};

/// Of Nesterov's momentum; see updates.h.
struct NesterovFactors {
  float kept, fresh;  ///< of the momentum, and of the gradient
  float shrunk;       ///< 1 - rate * weight decay
};

/// The formulas are in the header of each: matmul.h, norm.h, activation.h, elementwise.h, convolution.h, dropout.h,
/// qk_norm_rope.h, attention.h, cross_entropy.h, updates.h.
struct Kernels {
  const char* name;                            ///< x86-64-v4, x86-64-v3, portable; neon on aarch64
  long panel_width;                            ///< columns of a packed panel
  long slack;                                  ///< floats that may be read behind a matrix B
  long (*attention_scratch)(long T, long hs);  ///< floats of scratch that attention and its backward need

  /// C (M, N) = A (M, K) B (K, N), or += where `add`. `panel_stride`: from one panel of B's columns to the next;
  /// `panel_width` for a plain matrix.
  void (*matmul)(long M, long N, long K, const float* a, long lda, const float* b, long ldb, long panel_stride,
                 float* c, long ldc, bool add);
  /// C (M, N) = A^T B, or += where `add`: A (K, M).
  void (*matmul_transposed_a)(long M, long N, long K, const float* a, long lda, const float* b, long ldb,
                              long panel_stride, float* c, long ldc, bool add);
  /// c (N) = a (K) B, or += where `add`: matmul for M = 1 with more sums at once, to hide the latency of an addition.
  /// Each element is summed in the same order, to the same bits.
  void (*matvec)(long N, long K, const float* a, const float* b, long ldb, long panel_stride, float* c, bool add);
  /// B (K, N) into panels (N / panel_width, K, panel_width), the last one filled up with zeros. `transposed`: B is
  /// given as (N, K).
  void (*pack)(long first_panel, long last_panel, long K, long N, const float* b, bool transposed, float* packed);

  /// y = norm(x) gain + bias over rows of `width`; gain and bias may be null. stats (rows, 2): mean and rstd.
  void (*norm)(NormKind kind, long rows, long width, const float* x, long ldx, const float* gain, const float* bias,
               float eps, float* y, long ldy, float* stats);
  /// dx += the gradient through the norm; dgain, dbias += theirs (null where there are none).
  void (*norm_backward)(NormKind kind, long rows, long width, const float* x, long ldx, const float* gain,
                        const float* stats, const float* dy, long lddy, float* dx, long lddx, float* dgain,
                        float* dbias);

  /// y = f(x), and x becomes f'(x): rows of `width`.
  void (*activation)(ActivationKind kind, long rows, long width, float* x, long ldx, float* y, long ldy);
  /// y = x silu(gate); x becomes silu(gate), and gate x silu'(gate).
  void (*swiglu)(long rows, long width, float* x, float* gate, long ld, float* y, long ldy);

  /// y += x, y *= x, y = x: rows of `width`.
  void (*add)(long rows, long width, const float* x, long ldx, float* y, long ldy);
  void (*multiply)(long rows, long width, const float* x, long ldx, float* y, long ldy);
  void (*copy)(long rows, long width, const float* x, long ldx, float* y, long ldy);
  /// Every row of y = row (width), or zero where that is null.
  void (*broadcast_row)(long rows, long width, const float* row, float* y, long ldy);
  /// sums (width) += the sum of the rows of x.
  void (*add_column_sums)(long rows, long width, const float* x, long ldx, float* sums);
  /// to[i] += the others, in order; returns the sum of squares of the result.
  double (*sum_buffers)(float* to, const float* const* others, long count, long n);

  /// y = x + the convolution of x (rows, width) with w (taps, width): consecutive tokens of one window. `seen`: of the
  /// tokens before them, as many as lie in the rows before x; those before these count as zeros.
  void (*convolve)(long rows, long seen, long width, long taps, const float* x, long ldx, const float* w, float* y,
                   long ldy);
  /// Of a window of `rows` tokens: dx = the gradient, dw += the weights'. dx must not be dy.
  void (*convolve_backward)(long rows, long width, long taps, const float* x, long ldx, const float* w, const float* dy,
                            long lddy, float* dx, long lddx, float* dw);

  /// x *= mask: rows of `width`.
  void (*dropout)(const DropoutMask& mask, std::uint64_t first_element, long rows, long width, float* x, long ldx);

  /// Each head of each row through RMS norm (where `rstd`, (rows, heads), is not null: it is written) and rotation
  /// (where cosines, (T, hs/2), are not null), in place. Row r is at position r mod T.
  void (*qk_norm_rope)(long rows, long T, long heads, long hs, float* x, long ldx, float eps, float* rstd,
                       const float* cosines, const float* sines);
  /// The gradient of that: dx in place; x is what qk_norm_rope left.
  void (*qk_norm_rope_backward)(long rows, long T, long heads, long hs, const float* x, long ldx, const float* rstd,
                                const float* cosines, const float* sines, float* dx, long lddx);

  /// Causal attention: v (end, hs) with rows `ldv` apart. softmax_stats (end - begin, 2): the largest scaled score of
  /// each row, and the inverse of its sum. `mask` null: no dropout; else `begin` is 0, and `first_element` is that of
  /// the first weight. scratch: attention_scratch floats.
  void (*attention)(const HeadShape& shape, const float* q, const HeadKeys& keys, const float* v, long ldv, float* o,
                    float* softmax_stats, const DropoutMask* mask, std::uint64_t first_element, float* scratch);
  /// Of a whole window (`begin` 0), q, k and v with rows `ld` apart: dq, dk, dv with rows `ldd` apart.
  void (*attention_backward)(const HeadShape& shape, const float* q, const float* k, const float* v, const float* o,
                             const float* softmax_stats, const float* d_o, float* dq, float* dk, float* dv, long ldd,
                             const DropoutMask* mask, std::uint64_t first_element, float* scratch);
  /// x (rows, columns) -> y (columns, rows).
  void (*transpose)(long rows, long columns, const float* x, long ldx, float* y, long ldy);

  /// losses (rows): nats. `scale` not 0: logits become scale (softmax - one-hot of the target).
  void (*cross_entropy)(long rows, long V, float* logits, long ld, const std::int64_t* targets, float scale,
                        float* losses);
  /// Of what that made of the logits: dlogits += share (one-hot of the target - q). q (rows, V): distributions.
  void (*mix_targets)(long rows, long V, const std::int64_t* targets, const float* q, float share, float* dlogits,
                      long ld);
  /// q += weight softmax(logits): rows of V. The logits are used up.
  void (*add_softmax)(long rows, long V, float* logits, float weight, float* q);

  /// An update of `n` weights; the moments follow.
  void (*adamw)(const AdamwFactors& by, long n, const float* gradients, float* values, float* moment1, float* moment2);
  /// The moment of `n` weights moves on, the weights shrink, and `ahead` (n) is where the moment would be next.
  void (*nesterov)(const NesterovFactors& by, long n, const float* gradients, float* values, float* moment,
                   float* ahead);
  /// y (n) += weight (x - y).
  void (*lerp)(float weight, long n, const float* x, float* y);

  /// Fused multiply-adds in registers alone; returns how many floating-point operations it did.
  double (*fma_loop)(long rounds);
};

/// What kernels are compiled for, each including those before it. LibTorch has code for the same three.
enum class InstructionSet { portable, avx2, avx512 };

/// What a value of ATEN_CPU_CAPABILITY limits to: default, avx2 or avx512, spelled so. None for another word, which
/// limits nothing.
std::optional<InstructionSet> named_instruction_set(std::string_view word);
/// The widest that this processor runs.
InstructionSet processor_instruction_set();
/// It multiplies bfloat16 itself (AVX512_BF16).
bool processor_has_bf16();
/// The widest that this processor runs within the limit of the environment: read once.
InstructionSet instruction_set();

/// The widest in force.
const Kernels& kernels();
/// All that this build has up to `widest`, which this processor must run; the widest first.
std::vector<const Kernels*> kernels_up_to(InstructionSet widest);
/// All in force, the widest first: for tests.
std::vector<const Kernels*> all_kernels();

}  // namespace chargpt::cpu
