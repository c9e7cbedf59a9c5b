// The forward pass of every model type, on one thread or on a crew of threads: for windows that are scored or trained
// on, and for sequences extended with a cache of keys and values. These differ in where earlier keys are stored, which
// positions' outputs are wanted, whether activations are stored for backward (engine/cpu/forward_backward.h), and the
// observer. Executes a Plan. Allocates only in prepare(). Independent of sampling.
//
// Windows are run a few sequences at a time, so that the output of a layer is still in the cache when the next layer
// reads it.
//
// In shapes: C = n_embd, A = attention_width = nh hs (concatenated heads), H = mlp_width, V = vocab_size. Rows are
// tokens, sequence after sequence. A row of qkv contains q, k and v, A floats each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/heartbeat.h"
#include "kernels/buffers.h"
#include "kernels/kernels.h"
#include "kernels/thread_team.h"
#include "network/plan.h"
#include "network/sequence_cache.h"
#include "network/window_scorer.h"

namespace chargpt::cpu {

/// Some windows of one micro-batch.
struct BatchSlice {
  WindowBatch windows{};
  std::int64_t first = 0;                ///< index of the first window in this process's part of the micro-batch
  std::int64_t elsewhere = 0;            ///< windows of the micro-batch in earlier processes; dropout masks count them
  std::int64_t from = 0;                 ///< in each window, targets before this index do not count
  float scale = 0;                       ///< of each token's gradient: 1 / number of tokens in the step
  const float* soft = nullptr;           ///< (count, T, V): distributions to mix with the targets; null: do not mix
  float soft_weight = 0;                 ///< weight of `soft` in the mixture
  std::optional<std::uint64_t> seed{};   ///< of the micro-batch's dropout masks; nullopt: dropout is off
  const Heartbeat* heartbeat = nullptr;  ///< called between chunks of sequences; may be null
};

/// Positions of each sequence whose output is wanted. For the others the last layer computes only keys and values.
enum class Wanted { all, last, none };

/// Threads that run the same chunk together (tensor parallelism): each computes some of the heads and of the columns of
/// the large products, and gives them to the others; each computes all the rest. The logits are those of one thread,
/// bit by bit.
struct Crew {
  /// `floats`: size of the largest part that a thread gives. Allocates all memory, because a thread must not throw.
  Crew(int threads, std::int64_t floats) : team(threads), part_size(floats), given(2 * threads * floats) {}
  ThreadTeam team;
  std::int64_t part_size;  ///< in floats
  AlignedFloats given;     ///< by each thread: two parts per thread, used in turn
};

/// The input of one pass: `count` consecutive positions of each of `sequences` sequences.
struct Chunk {
  long sequences = 0, count = 0;
  std::optional<std::uint64_t> seed{};  ///< of dropout masks; nullopt: dropout is off
  std::int64_t first_sequence = 0;      ///< index of the first sequence in the micro-batch, for dropout masks

  SequenceCache* cache = nullptr;       ///< contains keys and values of earlier positions; may be null
  const std::int64_t* slots = nullptr;  ///< (sequences): slots in the cache
  long first = 0;                       ///< number of earlier positions
  /// Position of the first token since the last full run of the sequence; more than `first` if the context slides. Its
  /// keys and values are at index `position` mod block_size.
  std::int64_t position = 0;

  Wanted wanted = Wanted::all;
  float* logits = nullptr;  ///< (wanted rows, V), row stride row_stride(V); null: they stay in the pass
  Crew* crew = nullptr;     ///< null: one thread runs the chunk
  int thread = 0;           ///< number in the crew
};

/// Consecutive rows of one sequence of a chunk that attend only to each other: a document or the part of it in the
/// window; the whole sequence if the text does not have documents.
struct Stretch {
  long sequence, row, rows;
};

/// One block of a pass: its parameters and activations, which are stored for backward. In inference x_mid is x. Without
/// norms before the sublayers ln_1 is x, and ln_2 is x_mid; without convolutions conv_1 is ln_1, and conv_2 is ln_2.
struct BlockPass {
  const BlockParameters* parameters;
  long layer;
  float *x, *ln_1, *ln_1_stats;      ///< (rows, C), (rows, C), (rows, 2)
  float *conv_1, *conv_2;            ///< (rows, C): inputs of attention and of the feed-forward layer
  float *qkv, *qk_rstd;              ///< (rows, 3 A) after norm and rotation, (rows, 2 nh)
  float *softmax_stats, *o;          ///< (sequences, nh, T, 2), (rows, A)
  float *x_mid, *ln_2, *ln_2_stats;  ///< (rows, C), (rows, C), (rows, 2)
  float *fc, *gate, *hidden;         ///< (rows, H): derivatives, derivatives of the gate, values
  float *sum_1, *sum_2;              ///< (rows, C): inputs of the norms of post-norm
};

/// The results of a pass, in this order; norm_1 to block once per layer. Models without a result skip it.
enum class Made {
  embedding,
  norm_1,
  conv_1,
  qkv,
  attended,
  after_attention,
  norm_2,
  conv_2,
  hidden,
  block,
  final_norm,
  logits
};
/// (rows, width)
struct MadeValues {
  const float* values;
  long rows, width, stride;
};
/// Called for each result with its layer (0 outside the blocks). The values are valid only during the call.
using Observer = std::function<void(Made made, long layer, const MadeValues& values)>;

class Forward {
 public:
  /// `plan` and `weights` must outlive it.
  Forward(const Plan& plan, const ModelWeights& weights) : Forward(plan, weights, /*for_backward=*/false) {}
  virtual ~Forward() = default;
  Forward(Forward&&) = default;
  Forward& operator=(Forward&&) = delete;

  static constexpr long chunk_rows = 128;  ///< rows of a chunk, unless one window is longer

  /// Allocates buffers for slices of up to `sequences` sequences of T tokens.
  void prepare(std::int64_t sequences, std::int64_t T);
  /// Allocates buffers for chunks.
  void prepare_chunks() { prepare_rows(chunk_rows, plan_.block_size); }
  /// Computes the losses in nats, (count, T), and the logits, (count, T, V), of each token, unless null: in float32 and
  /// without dropout.
  void score(const BatchSlice& slice, float* losses, float* logits);
  /// Runs a chunk of at most chunk_rows positions, whose ids are in its cache: writes keys and values to the cache, and
  /// computes the wanted logits.
  void run(const Chunk& chunk);
  /// Runs one window without its targets and calls the observer for each result.
  void observe(const WindowBatch& window, const Observer& observer);

 protected:
  /// `for_backward`: store the activations that backward needs.
  Forward(const Plan& plan, const ModelWeights& weights, bool for_backward)
      : plan_(plan),
        weights_(weights),
        k_(*plan.kernels),
        for_backward_(for_backward),
        beyond_{.frequencies = plan.rotations.frequencies} {}
  virtual void allocate_buffers(BumpAllocator& memory);
  /// Runs a chunk, the current one from now on: inputs_ -> logits.
  void forward(const Chunk& chunk);
  /// Number of sequences per chunk; the chunks of a slice differ in size as little as possible.
  static std::int64_t sequences_at_once(std::int64_t count, std::int64_t T);
  /// Reads inputs_ and the starts of documents from the windows.
  void read_inputs(const WindowBatch& windows);
  /// A chunk of `sequences` whole windows of T tokens.
  Chunk windows_chunk(long sequences, long T) const { return {.sequences = sequences, .count = T}; }
  /// Calls body(chunk, index of its first sequence in the slice) after reading its inputs_ and targets_.
  template <class Body>
  void for_each_chunk(const BatchSlice& slice, const Body& body) {
    const std::int64_t count = slice.windows.B(), T = slice.windows.T, at_once = sequences_at_once(count, T);
    for (std::int64_t begin = 0; begin < count; begin += at_once) {
      if (slice.heartbeat != nullptr) (*slice.heartbeat)(static_cast<double>(begin) / static_cast<double>(count));
      const WindowBatch windows = slice.windows.part(begin, std::min(at_once, count - begin));
      read_inputs(windows);
      windows.copy_targets(targets_.data());
      for (std::int64_t b = 0; slice.from > 0 && b < windows.B(); ++b)
        std::fill_n(targets_.begin() + b * T, slice.from, no_target);
      Chunk chunk = windows_chunk(windows.B(), T);
      chunk.seed = slice.seed;
      chunk.first_sequence = slice.elsewhere + slice.first + begin;
      body(chunk, begin);
    }
  }

  /// [begin, end)
  struct Range {
    long begin, end;
  };

  /// One head of one stretch.
  struct Head {
    HeadShape shape;
    const float* q;           ///< keys and values are A and 2 A floats after it
    float* softmax_stats;     ///< (rows, 2)
    const DropoutMask* mask;  ///< null: dropout is off
    std::uint64_t first;      ///< element of the mask
    long qkv, o;              ///< offsets in buffers with the layout of qkv and of o
  };
  /// Calls body(head) for every head of every stretch in the current chunk of whole windows.
  template <class Body>
  void for_each_head(const BlockPass& block, const Body& body) const {
    const long hs = plan_.head_size, T = chunk_.count, ld = row_stride(3 * plan_.attention_width),
               ldo = row_stride(plan_.attention_width);
    const bool masked = drops(Place::attention);
    const DropoutMask mask = masked ? mask_of(Place::attention, block.layer) : DropoutMask{};
    for (const Stretch& stretch : stretches_)
      for (long h = 0; h < plan_.n_head; ++h) {
        const long qkv = stretch.row * ld + h * hs, before = stretch.row - stretch.sequence * T;
        const std::int64_t head = (chunk_.first_sequence + stretch.sequence) * plan_.n_head + h;
        body(Head{.shape = {.begin = 0,
                            .end = stretch.rows,
                            .hs = hs,
                            .ld = ld,
                            .ldo = ldo,
                            .mask_ld = T,
                            .scale = plan_.score_scale},
                  .q = block.qkv + qkv,
                  .softmax_stats = block.softmax_stats + ((stretch.sequence * plan_.n_head + h) * T + before) * 2,
                  .mask = masked ? &mask : nullptr,
                  .first = static_cast<std::uint64_t>(head * T * T + before * (T + 1)),
                  .qkv = qkv,
                  .o = stretch.row * ldo + h * hs});
      }
  }

  long max_width() const;
  void matmul(long rows, long out, long in, const float* x, long ldx, std::int64_t packed, float* y, long ldy,
              bool add) const;
  bool drops(Place place) const { return chunk_.seed && plan_.dropout.rate(place) > 0; }
  DropoutMask mask_of(Place place, long layer) const;
  void dropout(Place place, long layer, float* x) const;
  void window_means(const float* x, long ldx, float* y, long ldy) const;
  const float* value(const Parameter& p) const { return p.at(weights_.values); }

  const Plan& plan_;
  const ModelWeights& weights_;
  const Kernels& k_;
  const bool for_backward_;
  std::int64_t max_rows_ = 0, max_T_ = 0;       ///< maximum of a chunk, as prepared
  Chunk chunk_;                                 ///< the current chunk
  long rows_ = 0;                               ///< rows of the current chunk that are still computed
  std::vector<std::int64_t> inputs_, targets_;  ///< (rows): ids of the current chunk
  std::vector<Stretch> stretches_;              ///< of the rows of the current chunk
  std::vector<BlockPass> blocks_;
  Bf16* x_bf16_ = nullptr;                        ///< input of a linear layer, rounded
  float *x_first_ = nullptr, *x_last_ = nullptr;  ///< (rows, C): input of the first block, output of the last
  float *ln_f_ = nullptr, *ln_f_stats_ = nullptr;
  float* branch_ = nullptr;                                ///< (rows, C): the residual branch that is added to x
  const float *rope_cos_ = nullptr, *rope_sin_ = nullptr;  ///< of the current chunk (count, hs/2); null: no rotation
  float *logits_ = nullptr, *losses_ = nullptr, *scratch_ = nullptr;

 private:
  void prepare_rows(std::int64_t rows, std::int64_t T);
  void find_rotations();
  void embed();
  void project_qkv(const BlockPass& block, long queries);
  void attention_over_windows(const BlockPass& block);
  void attention_over_cache(const BlockPass& block, long queries);
  void attention(const BlockPass& block, long queries);
  void attention_output(const BlockPass& block);
  void mlp(const BlockPass& block, float* next);
  void keep_last(float* x);
  void convolve(const Parameter& weight, long layer, Place place, const float* x, float* y);
  void normalise(const NormParameters& norm, const float* x, float* y, float* stats) const;
  void normalise_sum(const NormParameters& norm, float* x, float* sum, float* stats) const;
  Range part_of_thread(Range columns, long unit, int thread) const;
  void exchange(long rows, Range columns, long unit, float* y, long ldy);
  void linear(const LinearParameters& layer, Range columns, long rows, const float* x, long ldx, float* y, long ldy,
              bool add);
  void linear(const LinearParameters& layer, const float* x, float* y, bool add);
  void add_branch(const LinearParameters& end, Place place, long layer, const float* h, float* x);
  void made(Made what, long layer, const float* values, long width) const {
    if (observer_ != nullptr) (*observer_)(what, layer, {values, rows_, width, row_stride(width)});
  }

  AlignedFloats memory_;
  float* keys_ = nullptr;       ///< (hs, T): keys of one head
  float* conv_rows_ = nullptr;  ///< (taps - 1 + rows, C): tokens before a chunk, and the chunk's own
  RopeAngles beyond_;           ///< of a chunk with positions beyond the plan's table
  const Observer* observer_ = nullptr;
  int exchanges_ = 0;  ///< modulo 2
};

/// A model ready to compute: its packed weights, and one forward pass per thread.
class ForwardTeam {
 public:
  /// `plan` and `values` must outlive it.
  ForwardTeam(const Plan& plan, const float* values, int threads);
  /// Call it after each change of the values: the next pack() packs them again.
  void take_weights() { is_packed_ = false; }
  /// Packs the weights if they have changed. score() calls it.
  void pack();

  const Plan& plan() const { return plan_; }
  int threads() const { return static_cast<int>(passes_.size()); }
  Forward& pass(int thread) { return passes_[static_cast<std::size_t>(thread)]; }
  std::span<Forward> passes() { return passes_; }

  /// Computes the losses of WindowScorer::score(), and the logits of each position, (B, T, V); null: not wanted. Throws
  /// the errors of check_windows().
  void score(const WindowBatch& windows, float* losses, float* logits);

 private:
  const Plan& plan_;
  ModelWeights weights_;
  std::vector<Forward> passes_;
  bool is_packed_ = false;
};

}  // namespace chargpt::cpu
