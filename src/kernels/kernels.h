// The arithmetic of a step on the CPU as plain functions on float pointers. The kernels are compiled once per
// instruction set and chosen at program start: the widest set that the processor has and that $ATEN_CPU_CAPABILITY,
// LibTorch's own limit, allows. Matrices are row-major; `ld…` is the distance between rows in floats. Independent of
// tensors, threads and models.
//
// Matmuls and attention may read up to `Kernels::slack` floats past the end of matrix B: allocate buffers that long.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/bf16.h"

namespace chargpt::cpu {

/// A dropout mask, a pure function of these numbers. Element 0 of the tensor passed to a kernel is element
/// `first_element` of the mask.
struct DropoutMask {
  std::uint32_t key[2];     ///< the seed
  std::uint32_t layer;      ///< number of the mask among those of one forward pass
  std::uint64_t threshold;  ///< an element is dropped if its random word is less than this
  float scale;              ///< factor for the elements that are kept, 1 / (1 - rate)
};
DropoutMask dropout_mask(double rate, std::uint64_t seed, std::uint32_t layer);

/// One head of one sequence: queries of positions `begin` to `end` - 1; keys and values of positions 0 to `end` - 1. q
/// (end - begin, hs) has row stride `ld`, o (end - begin, hs) row stride `ldo`. A dropout mask of the attention weights
/// has row stride `mask_ld`.
struct HeadShape {
  long begin, end, hs, ld, ldo, mask_ld = 0;
  float scale = 1;  ///< factor of the scores
};

/// Transposed keys of a head (hs, positions), used as matrix B of a matmul.
struct HeadKeys {
  const float* values;
  long ld, panel_stride;
};

enum class NormKind { layernorm, rmsnorm };
enum class ActivationKind { gelu, gelu_tanh, relu, relu2, silu };

/// Factors of an AdamW update; formula in updates.h.
struct AdamwFactors {
  float scale;           ///< factor of the gradients (gradient clipping)
  float fresh1, fresh2;  ///< 1 - beta1, 1 - beta2
  float beta2, eps;
  float kept;          ///< 1 - rate * weight decay
  float step;          ///< rate / (1 - beta1^t)
  float inverse_root;  ///< 1 / sqrt(1 - beta2^t)
};

/// Factors of Nesterov momentum; formula in updates.h.
struct NesterovFactors {
  float kept, fresh;  ///< factors of the momentum and of the gradient
  float shrunk;       ///< 1 - rate * weight decay
};

struct Kernels {
  const char* name;                            ///< x86-64-v4, x86-64-v3 or portable; neon on aarch64
  long panel_width;                            ///< columns of a packed panel
  long slack;                                  ///< floats that a kernel may read past the end of matrix B
  long (*attention_scratch)(long T, long hs);  ///< scratch size of attention and its backward, in floats

#define KERNEL(result, name, parameters) result(*name) parameters;
#include "kernels/kernel_list.h"
#undef KERNEL
};

/// Instruction sets that kernels are compiled for; each includes those before it. LibTorch has code for the same three.
enum class InstructionSet { portable, avx2, avx512 };

/// The instruction set that a value of ATEN_CPU_CAPABILITY ("default", "avx2" or "avx512") names as the limit. Returns
/// nullopt for any other word; it sets no limit.
std::optional<InstructionSet> named_instruction_set(std::string_view word);
/// The widest instruction set of this processor.
InstructionSet processor_instruction_set();
/// The widest instruction set of this processor within the limit of the environment, which is read once.
InstructionSet instruction_set();

/// The kernels of each instruction set; null if this build does not contain them.
extern const Kernels* const kernels_v4;  ///< AVX-512
extern const Kernels* const kernels_v3;  ///< AVX2 and FMA
extern const Kernels* const kernels_portable;
extern const Bf16Kernels* const bf16_kernels_avx512;  ///< AVX512_BF16

/// The kernels in use: those of instruction_set().
const Kernels& kernels();
/// All kernels of this build up to `widest`, which this processor must support; the widest first.
std::vector<const Kernels*> kernels_up_to(InstructionSet widest);

}  // namespace chargpt::cpu
