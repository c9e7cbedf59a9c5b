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

/// The dropout mask of one place in the model: what dropout_mask in model/language_model.h draws under (seed, layer).
/// Element `first_element` of it is element 0 of the tensor that a kernel is given.
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

struct Kernels {
  const char* name;                            ///< x86-64-v4, x86-64-v3, portable; neon on aarch64
  long panel_width;                            ///< columns of a packed panel
  long slack;                                  ///< floats that may be read behind a matrix B
  long (*attention_scratch)(long T, long hs);  ///< floats of scratch that attention and its backward need

#define KERNEL(result, name, parameters) result(*name) parameters;
#include "kernels/kernel_list.h"
#undef KERNEL
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

/// The kernels of each instruction set; null if this build was not compiled for it.
extern const Kernels* const kernels_v4;  ///< AVX-512
extern const Kernels* const kernels_v3;  ///< AVX2 and FMA
extern const Kernels* const kernels_portable;
extern const Bf16Kernels* const bf16_kernels_avx512;  ///< AVX512_BF16

/// The widest in force.
const Kernels& kernels();
/// All that this build has up to `widest`, which this processor must run; the widest first.
std::vector<const Kernels*> kernels_up_to(InstructionSet widest);
/// All in force, the widest first: for tests.
std::vector<const Kernels*> all_kernels();

}  // namespace chargpt::cpu
