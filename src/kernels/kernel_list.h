// Every kernel as KERNEL(result, name, parameters), which the including file defines. The formulas are in matmul.h,
// rows.h, attention.h and updates.h.

/// C (M, N) = A (M, K) B (K, N), or += where `add`. `panel_stride`: from one panel of B's columns to the next;
/// `panel_width` for a plain matrix.
KERNEL(void, matmul,
       (long M, long N, long K, const float* a, long lda, const float* b, long ldb, long panel_stride, float* c,
        long ldc, bool add))
/// C (M, N) = A^T B, or += where `add`: A (K, M).
KERNEL(void, matmul_transposed_a,
       (long M, long N, long K, const float* a, long lda, const float* b, long ldb, long panel_stride, float* c,
        long ldc, bool add))
/// c (N) = a (K) B, or += where `add`: matmul for M = 1 with more sums at once, to hide the latency of an addition.
/// Each element is summed in the same order, to the same bits.
KERNEL(void, matvec, (long N, long K, const float* a, const float* b, long ldb, long panel_stride, float* c, bool add))
/// B (K, N) into panels (N / panel_width, K, panel_width), the last one filled up with zeros. `transposed`: B is
/// given as (N, K).
KERNEL(void, pack, (long first_panel, long last_panel, long K, long N, const float* b, bool transposed, float* packed))

/// y = norm(x) gain + bias over rows of `width`; gain and bias may be null. stats (rows, 2): mean and rstd.
KERNEL(void, norm,
       (NormKind kind, long rows, long width, const float* x, long ldx, const float* gain, const float* bias, float eps,
        float* y, long ldy, float* stats))
/// dx += the gradient through the norm; dgain, dbias += theirs (null where there are none).
KERNEL(void, norm_backward,
       (NormKind kind, long rows, long width, const float* x, long ldx, const float* gain, const float* stats,
        const float* dy, long lddy, float* dx, long lddx, float* dgain, float* dbias))

/// y = f(x), and x becomes f'(x): rows of `width`.
KERNEL(void, activation, (ActivationKind kind, long rows, long width, float* x, long ldx, float* y, long ldy))
/// y = x silu(gate); x becomes silu(gate), and gate x silu'(gate).
KERNEL(void, swiglu, (long rows, long width, float* x, float* gate, long ld, float* y, long ldy))

/// y += x, y *= x, y = x: rows of `width`.
KERNEL(void, add, (long rows, long width, const float* x, long ldx, float* y, long ldy))
KERNEL(void, multiply, (long rows, long width, const float* x, long ldx, float* y, long ldy))
KERNEL(void, copy, (long rows, long width, const float* x, long ldx, float* y, long ldy))
/// Every row of y = row (width), or zero where that is null.
KERNEL(void, broadcast_row, (long rows, long width, const float* row, float* y, long ldy))
/// sums (width) += the sum of the rows of x.
KERNEL(void, add_column_sums, (long rows, long width, const float* x, long ldx, float* sums))
/// to[i] += the others, in order; returns the sum of squares of the result.
KERNEL(double, sum_buffers, (float* to, const float* const* others, long count, long n))

/// y = x + the convolution of x (rows, width) with w (taps, width): consecutive tokens of one window. `seen`: of the
/// tokens before them, as many as lie in the rows before x; those before these count as zeros.
KERNEL(void, convolve,
       (long rows, long seen, long width, long taps, const float* x, long ldx, const float* w, float* y, long ldy))
/// Of a window of `rows` tokens: dx = the gradient, dw += the weights'. dx must not be dy.
KERNEL(void, convolve_backward,
       (long rows, long width, long taps, const float* x, long ldx, const float* w, const float* dy, long lddy,
        float* dx, long lddx, float* dw))

/// x *= mask: rows of `width`.
KERNEL(void, dropout, (const DropoutMask& mask, std::uint64_t first_element, long rows, long width, float* x, long ldx))

/// Each head of each row through RMS norm (where `rstd`, (rows, heads), is not null: it is written) and rotation
/// (where cosines, (T, hs/2), are not null), in place. Row r is at position r mod T.
KERNEL(void, qk_norm_rope,
       (long rows, long T, long heads, long hs, float* x, long ldx, float eps, float* rstd, const float* cosines,
        const float* sines))
/// The gradient of that: dx in place; x is what qk_norm_rope left.
KERNEL(void, qk_norm_rope_backward,
       (long rows, long T, long heads, long hs, const float* x, long ldx, const float* rstd, const float* cosines,
        const float* sines, float* dx, long lddx))

/// Causal attention: v (end, hs) with rows `ldv` apart. softmax_stats (end - begin, 2): the largest scaled score of
/// each row, and the inverse of its sum. `mask` null: no dropout; else `begin` is 0, and `first_element` is that of
/// the first weight. scratch: attention_scratch floats.
KERNEL(void, attention,
       (const HeadShape& shape, const float* q, const HeadKeys& keys, const float* v, long ldv, float* o,
        float* softmax_stats, const DropoutMask* mask, std::uint64_t first_element, float* scratch))
/// Of a whole window (`begin` 0), q, k and v with rows `ld` apart: dq, dk, dv with rows `ldd` apart.
KERNEL(void, attention_backward,
       (const HeadShape& shape, const float* q, const float* k, const float* v, const float* o,
        const float* softmax_stats, const float* d_o, float* dq, float* dk, float* dv, long ldd,
        const DropoutMask* mask, std::uint64_t first_element, float* scratch))
/// x (rows, columns) -> y (columns, rows).
KERNEL(void, transpose, (long rows, long columns, const float* x, long ldx, float* y, long ldy))

/// losses (rows): nats. `scale` not 0: logits become scale (softmax - one-hot of the target).
KERNEL(void, cross_entropy,
       (long rows, long V, float* logits, long ld, const std::int64_t* targets, float scale, float* losses))
/// Of what that made of the logits: dlogits += share (one-hot of the target - q). q (rows, V): distributions.
KERNEL(void, mix_targets,
       (long rows, long V, const std::int64_t* targets, const float* q, float share, float* dlogits, long ld))
/// q += weight softmax(logits): rows of V. The logits are used up.
KERNEL(void, add_softmax, (long rows, long V, float* logits, float weight, float* q))

/// An update of `n` weights; the moments follow.
KERNEL(void, adamw,
       (const AdamwFactors& by, long n, const float* gradients, float* values, float* moment1, float* moment2))
/// The moment of `n` weights moves on, the weights shrink, and `ahead` (n) is where the moment would be next.
KERNEL(void, nesterov,
       (const NesterovFactors& by, long n, const float* gradients, float* values, float* moment, float* ahead))
/// y (n) += weight (x - y).
KERNEL(void, lerp, (float weight, long n, const float* x, float* y))

/// Fused multiply-adds in registers alone; returns how many floating-point operations it did.
KERNEL(double, fma_loop, (long rounds))
