// The arithmetic of a step on the CPU as plain functions on float pointers, compiled once per instruction set and
// chosen when the program starts: the widest that the processor runs and $ATEN_CPU_CAPABILITY, LibTorch's own limit,
// allows. Matrices are row-major; `ld…` is the distance between rows in floats. Knows no
// tensor, no thread and no model.
//
// Products and attention may read up to `Kernels::slack` floats behind the matrix B: buffers are that much longer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/bf16.h"

namespace chargpt::cpu {

/// Dropout of one place in the model: what model/dropout.h draws under (seed, layer) for the tensor whose element
/// `first` is element 0 here. Null where nothing is dropped.
struct DropoutWords {
  std::uint32_t key[2];
  std::uint32_t layer;
  std::uint64_t first_kept;  ///< words below this drop
  float kept;                ///< 1 / (1 - rate)
};

/// One head of one sequence: q, k, v (T, hs) with rows `ld` apart, o (T, hs) with rows `ldo` apart.
struct HeadShape {
  long T, hs, ld, ldo;
  float scale;  ///< of the scores
};

/// Queries of positions `begin` to `end` of one head over keys and values that are kept from token to token: q, o
/// (end - begin, hs) with rows `ld` and `ldo` apart; keys (hs, end) in panels, as `pack` has them; values (end, hs).
struct KeptHeadShape {
  long begin, end, hs, ld, ldo;
  float scale;  ///< of the scores
};

/// What backward needs of the softmax of each row: 2 T floats, the largest scaled score and the inverse of the sum.
using RowStatistics = float;

enum class RowNorm { layernorm, rmsnorm };
enum class Curve { gelu, gelu_tanh, relu, relu2, silu };

struct Kernels {
  const char* name;                            ///< x86-64-v4, x86-64-v3, portable
  long panel;                                  ///< columns of a packed panel
  long slack;                                  ///< floats that may be read behind a matrix B
  long (*attention_scratch)(long T, long hs);  ///< floats of scratch that attention and its backward need

  /// C (M, N) = A (M, K) B (K, N), or += where `add`. `panel_stride`: from one panel of B's columns to the next;
  /// `panel` for a plain matrix.
  void (*product)(long M, long N, long K, const float* a, long lda, const float* b, long ldb, long panel_stride,
                  float* c, long ldc, bool add);
  /// The same with A transposed: A (K, M).
  void (*product_at)(long M, long N, long K, const float* a, long lda, const float* b, long ldb, long panel_stride,
                     float* c, long ldc, bool add);
  /// The same for M = 1 with more sums under way at once: what hides the latency of an addition behind one row. Each
  /// element is summed in the same order, to the same bits.
  void (*row_product)(long N, long K, const float* a, const float* b, long ldb, long panel_stride, float* c, bool add);
  /// The same with panels as `narrow` leaves them, `panel_stride` Half apart: the bits of row_product on those numbers.
  void (*narrow_row_product)(long N, long K, const float* a, const Half* b, long panel_stride, float* c, bool add);
  /// One packed panel (K, panel) as bfloat16, to nearest, ties to even: rows 2i and 2i + 1 side by side, (K / 2, panel,
  /// 2), the last one with zeros where K is odd.
  void (*narrow)(long K, const float* panel, Half* to);
  /// And back.
  void (*widen)(long K, const Half* panel, float* to);
  /// B (K, N) into panels (N / panel, K, panel), the last one filled up with zeros. `transposed`: B is given as (N, K).
  void (*pack)(long first_panel, long last_panel, long K, long N, const float* b, bool transposed, float* packed);

  /// y = norm(x) gain + bias over rows of `width`. gain, bias may be null. statistics (rows, 2): mean and 1/deviation.
  void (*norm)(RowNorm kind, long rows, long width, const float* x, long ldx, const float* gain, const float* bias,
               float eps, float* y, long ldy, float* statistics);
  /// dx += the gradient through the norm; dgain, dbias += theirs (null where there are none).
  void (*norm_backward)(RowNorm kind, long rows, long width, const float* x, long ldx, const float* gain,
                        const float* statistics, const float* dy, long lddy, float* dx, long lddx, float* dgain,
                        float* dbias);

  /// y = f(x), in place of x its derivative: rows of `width`.
  void (*curve)(Curve kind, long rows, long width, float* x, long ldx, float* y, long ldy);
  /// The gate of swiglu: y = x silu(gate); in place of x silu(gate), of gate x silu'(gate).
  void (*gated)(long rows, long width, float* x, float* gate, long ld, float* y, long ldy);

  /// y += x, y *= x, y = x: rows of `width`.
  void (*add)(long rows, long width, const float* x, long ldx, float* y, long ldy);
  void (*multiply)(long rows, long width, const float* x, long ldx, float* y, long ldy);
  void (*copy)(long rows, long width, const float* x, long ldx, float* y, long ldy);
  /// Every row of y = bias (width), or zero where bias is null.
  void (*fill)(long rows, long width, const float* bias, float* y, long ldy);
  /// dbias (width) += the sum of the rows.
  void (*add_rows)(long rows, long width, const float* dy, long lddy, float* dbias);
  /// x *= mask.
  void (*drop)(const DropoutWords& words, std::uint64_t first, long rows, long width, float* x, long ldx);

  /// One head's features of each row through RMS-norm (where `inverse` is not null: it gets 1/rms, rows `heads` apart)
  /// and rotation (where cosines, (T, hs/2), are not null), in place. Row r stands at position r mod T.
  void (*turn)(long rows, long T, long heads, long hs, float* x, long ldx, float eps, float* inverse,
               const float* cosines, const float* sines);
  /// The gradient of that: dx in place; x is what `turn` left.
  void (*turn_backward)(long rows, long T, long heads, long hs, const float* x, long ldx, const float* inverse,
                        const float* cosines, const float* sines, float* dx, long lddx);

  /// scratch: attention_scratch floats. `words` null: no dropout; `first`: element of the weights' first one.
  void (*attention)(const HeadShape& shape, const float* q, const float* k, const float* v, float* o,
                    RowStatistics* statistics, const DropoutWords* words, std::uint64_t first, float* scratch);
  /// dq, dk, dv with rows `ldd` apart.
  void (*attention_backward)(const HeadShape& shape, const float* q, const float* k, const float* v, const float* o,
                             const RowStatistics* statistics, const float* d_o, float* dq, float* dk, float* dv,
                             long ldd, const DropoutWords* words, std::uint64_t first, float* scratch);

  /// Causal attention over what is kept, of which nothing is copied; scratch as for `attention` with T = end.
  void (*attend)(const KeptHeadShape& shape, const float* q, const float* keys, const float* values, float* o,
                 float* scratch);
  /// x (rows, columns) -> y (columns, rows).
  void (*transpose)(long rows, long columns, const float* x, long ldx, float* y, long ldy);

  /// losses (rows): nats. `scale` not 0: logits become scale (softmax - one-hot of the target).
  void (*cross_entropy)(long rows, long V, float* logits, long ld, const std::int64_t* targets, float scale,
                        float* losses);

  /// to[i] += the others, in order; returns the sum of squares of the result.
  double (*sum_buffers)(float* to, const float* const* others, long count, long n);
  /// Fused multiply-adds in registers alone; returns how many floating-point operations it did.
  double (*burn)(long rounds);
};

/// What kernels are compiled for, each including those before it. LibTorch has code for the same three.
enum class InstructionSet { portable, avx2, avx512 };

/// What a value of ATEN_CPU_CAPABILITY limits to: default, avx2 or avx512, spelled so. None for another word, which
/// limits nothing.
std::optional<InstructionSet> named_instruction_set(std::string_view word);
/// The widest that this processor runs.
InstructionSet processor_instruction_set();
/// The widest that this processor runs within the limit of the environment: read once.
InstructionSet instruction_set();

/// The widest in force.
const Kernels& kernels();
/// All that this build has up to `widest`, which this processor must run; the widest first.
std::vector<const Kernels*> kernels_up_to(InstructionSet widest);
/// All in force, the widest first: for tests.
std::vector<const Kernels*> all_kernels();

}  // namespace chargpt::cpu
