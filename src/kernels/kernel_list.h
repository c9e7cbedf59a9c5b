// Every kernel as KERNEL(result, name, parameters); the including file defines this macro. The formulas are in
// matmul.h, rows.h, attention.h and updates.h.

/// C (M, N) = A (M, K) B (K, N), or += if `add`. `panel_stride`: distance in floats between two panels of B; for a
/// matrix that is not packed, `panel_width`.
KERNEL(void, matmul,
       (long M, long N, long K, const float* a, long lda, const float* b, long ldb, long panel_stride, float* c,
        long ldc, bool add))
/// C (M, N) = A^T B, or += if `add`: A (K, M).
KERNEL(void, matmul_transposed_a,
       (long M, long N, long K, const float* a, long lda, const float* b, long ldb, long panel_stride, float* c,
        long ldc, bool add))
/// c (N) = a (K) B, or += if `add`: matmul for M = 1 with more concurrent sums, to hide the latency of an addition.
/// Each element is summed in the same order as in matmul, so the results are bit-identical.
KERNEL(void, matvec, (long N, long K, const float* a, const float* b, long ldb, long panel_stride, float* c, bool add))
/// Packs B (K, N) into panels (N / panel_width, K, panel_width) and pads the last one with zeros. `transposed`: B is
/// stored as (N, K).
KERNEL(void, pack, (long first_panel, long last_panel, long K, long N, const float* b, bool transposed, float* packed))

/// y = norm(x) gain + bias for rows of `width` floats; gain and bias may be null. stats (rows, 2): mean and rstd.
KERNEL(void, norm,
       (NormKind kind, long rows, long width, const float* x, long ldx, const float* gain, const float* bias, float eps,
        float* y, long ldy, float* stats))
/// dx += gradient with respect to x; dgain and dbias likewise (null if the norm does not have them).
KERNEL(void, norm_backward,
       (NormKind kind, long rows, long width, const float* x, long ldx, const float* gain, const float* stats,
        const float* dy, long lddy, float* dx, long lddx, float* dgain, float* dbias))

/// y = f(x), and f'(x) replaces x: rows of `width` floats.
KERNEL(void, activation, (ActivationKind kind, long rows, long width, float* x, long ldx, float* y, long ldy))
/// y = x silu(gate); silu(gate) replaces x, and x silu'(gate) replaces gate.
KERNEL(void, swiglu, (long rows, long width, float* x, float* gate, long ld, float* y, long ldy))

/// y += x, y *= x, y = x: rows of `width` floats.
KERNEL(void, add, (long rows, long width, const float* x, long ldx, float* y, long ldy))
KERNEL(void, multiply, (long rows, long width, const float* x, long ldx, float* y, long ldy))
KERNEL(void, copy, (long rows, long width, const float* x, long ldx, float* y, long ldy))
/// Copies row (width) to every row of y; zeros if `row` is null.
KERNEL(void, broadcast_row, (long rows, long width, const float* row, float* y, long ldy))
/// sums (width) += the sum of all rows of x.
KERNEL(void, add_column_sums, (long rows, long width, const float* x, long ldx, float* sums))
/// Adds the `count` buffers `others` to `to`, in order; returns the sum of squares of the result.
KERNEL(double, sum_buffers, (float* to, const float* const* others, long count, long n))

/// y = x + the convolution of x (rows, width) with w (taps, width): consecutive tokens of one window. `seen`: number of
/// the window's tokens in the rows before x; earlier tokens count as zeros.
KERNEL(void, convolve,
       (long rows, long seen, long width, long taps, const float* x, long ldx, const float* w, float* y, long ldy))
/// Backward of convolve for a window of `rows` tokens: writes dx, adds to dw. dx must not be dy.
KERNEL(void, convolve_backward,
       (long rows, long width, long taps, const float* x, long ldx, const float* w, const float* dy, long lddy,
        float* dx, long lddx, float* dw))

/// x *= mask: rows of `width` floats.
KERNEL(void, dropout, (const DropoutMask& mask, std::uint64_t first_element, long rows, long width, float* x, long ldx))

/// Applies RMS norm (unless `rstd` (rows, heads), an output, is null) and then rotation (unless the cosines (T, hs/2)
/// are null) to each head of each row, in place. Row r is at position r mod T.
KERNEL(void, qk_norm_rope,
       (long rows, long T, long heads, long hs, float* x, long ldx, float eps, float* rstd, const float* cosines,
        const float* sines))
/// Backward of qk_norm_rope: changes dx in place; x is the output of qk_norm_rope.
KERNEL(void, qk_norm_rope_backward,
       (long rows, long T, long heads, long hs, const float* x, long ldx, const float* rstd, const float* cosines,
        const float* sines, float* dx, long lddx))

/// Causal attention: v (end, hs) has row stride `ldv`. softmax_stats (end - begin, 2): the largest scaled score of each
/// row and the inverse of the row's sum. If `mask` is null, there is no dropout; else `begin` is 0, and `first_element`
/// is the mask element of the first weight. scratch: attention_scratch floats.
KERNEL(void, attention,
       (const HeadShape& shape, const float* q, const HeadKeys& keys, const float* v, long ldv, float* o,
        float* softmax_stats, const DropoutMask* mask, std::uint64_t first_element, float* scratch))
/// Backward over a whole window (`begin` 0): q, k and v have row stride `ld`; dq, dk and dv have row stride `ldd`.
KERNEL(void, attention_backward,
       (const HeadShape& shape, const float* q, const float* k, const float* v, const float* o,
        const float* softmax_stats, const float* d_o, float* dq, float* dk, float* dv, long ldd,
        const DropoutMask* mask, std::uint64_t first_element, float* scratch))
/// x (rows, columns) -> y (columns, rows).
KERNEL(void, transpose, (long rows, long columns, const float* x, long ldx, float* y, long ldy))

/// Losses (rows) in nats. If `scale` is not 0, scale (softmax - one-hot of the target) replaces the logits.
KERNEL(void, cross_entropy,
       (long rows, long V, float* logits, long ld, const std::int64_t* targets, float scale, float* losses))
/// Changes the output of cross_entropy: dlogits += share (one-hot of the target - q). q (rows, V): distributions.
KERNEL(void, mix_targets,
       (long rows, long V, const std::int64_t* targets, const float* q, float share, float* dlogits, long ld))
/// q += weight softmax(logits): rows of V. Overwrites the logits.
KERNEL(void, add_softmax, (long rows, long V, float* logits, float weight, float* q))

/// AdamW update of `n` weights and their two moments.
KERNEL(void, adamw,
       (const AdamwFactors& by, long n, const float* gradients, float* values, float* moment1, float* moment2))
/// Nesterov update of the momentum and decay of `n` weights; writes the look-ahead momentum to `ahead` (n).
KERNEL(void, nesterov,
       (const NesterovFactors& by, long n, const float* gradients, float* values, float* moment, float* ahead))
/// y (n) += weight (x - y).
KERNEL(void, lerp, (float weight, long n, const float* x, float* y))

/// Fused multiply-adds on registers only; returns the number of floating-point operations.
KERNEL(double, fma_loop, (long rounds))
