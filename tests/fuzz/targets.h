// Readers of what strangers write, each as a function of bytes: for fuzzing, and for the corpus as a test.
#pragma once

#include <span>
#include <string_view>

namespace chargpt {

/// `read` ends without a word, whatever the bytes: it throws nothing, and aborts where a reader breaks a promise (an
/// exception that is no Error, a message of two lines, something read that does not come back from what is written).
struct FuzzTarget {
  std::string_view name;
  void (*read)(std::string_view bytes);
};

/// safetensors, state, vocabulary, config, metrics, exchange, text.
std::span<const FuzzTarget> fuzz_targets();

}  // namespace chargpt
