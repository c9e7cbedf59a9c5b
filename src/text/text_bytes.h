// Reads the bytes of one text into memory: a file, a pipe, standard input or the built-in sample. Independent of
// characters and ids.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/heartbeat.h"
#include "text/text_listing.h"

namespace chargpt {

struct TextBytes {
  std::string name;                          ///< for messages
  std::string_view bytes;                    ///< without the byte order mark
  std::size_t mark_bytes = 0;                ///< size of the byte order mark; 0: there was none
  std::shared_ptr<const std::string> owner;  ///< owns the bytes; null if the caller does
};

/// Wraps the text `all`, which must stay alive.
TextBytes text_in_memory(std::string name, std::string_view all);

/// Reads a file whole; a file that can be read only once may have at most 2^30 bytes. Keeps standard input, so that
/// later calls return it again. `heartbeat`: also called while a pipe has no bytes. Errors: missing; io; data above the
/// limit.
TextBytes read_text(const TextFile& file, const Heartbeat& heartbeat);

/// Another descriptor of standard input. Errors: io.
Descriptor standard_input();

/// Reads all of standard input. Errors: io; data above `most` bytes.
std::string standard_input_bytes(std::uint64_t most, const Heartbeat& heartbeat = {});

/// Removes all byte order marks at the beginning.
std::string_view without_byte_order_mark(std::string_view bytes);

/// The names of texts for a message: "a.txt, b.txt, c.txt and 7 more".
std::string names_of(std::span<const TextBytes> texts);

/// The built-in sample: data/sample.txt, compiled into the program.
std::string_view sample_text();

}  // namespace chargpt
