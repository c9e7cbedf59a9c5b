// From texts to ids in one reading: what a text holds need not be known before. Knows no split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_view.h"
#include "text/text_source.h"
#include "text/vocabulary.h"

namespace chargpt {

/// Bytes of one id in a vocabulary of so many symbols: 1, 2 or 4.
int narrowest_width(std::int64_t symbols);

/// As they are stored: little-endian.
void append_id(std::vector<std::byte>& to, std::int64_t id, int width);

struct EncodedText {
  Vocabulary vocabulary;
  std::shared_ptr<const std::vector<std::byte>> bytes;  ///< the ids, in the narrowest width that holds the vocabulary
  TokenView tokens;                                     ///< all of them
};

/// Reads texts one after the other. A character gets the next free id when it is first met; at the end ids are
/// renumbered in the order of code points.
class Encoder {
 public:
  /// `vocabulary`: encode with this one, of these units. Else one is made, of at most `max_symbols` characters (which
  /// are data.max_symbols). `bytes`: room for so many ids of one byte is reserved.
  Encoder(Units units, std::int64_t max_symbols, const std::optional<Vocabulary>& vocabulary, std::uint64_t bytes);

  /// Appends a text; true if it had a byte order mark, which is left out. Error data: not UTF-8 or binary (in
  /// characters), more than data.max_symbols characters, or characters that the given vocabulary lacks.
  bool read(const TextSource& source);
  /// How many ids there are so far.
  std::int64_t size() const { return stored_ + static_cast<std::int64_t>(filled_); }
  /// To be called once, after the last text.
  EncodedText finish();

  // What decode_utf8() visits.
  void operator()(char32_t symbol) { encode(&symbol, 1); }
  void single_bytes(std::string_view text) { encode_all(text); }
  void characters(std::span<const char32_t> text) { encode_all(text); }

 private:
  void read_characters(TextReader& reader, const TextSource& source);
  template <class Characters>
  void encode_all(Characters characters);
  template <class Character>
  void encode(const Character* from, std::size_t length);
  std::int32_t id_of_unseen(char32_t symbol, std::int64_t position);
  void flush();
  void widen(int width);
  void renumber();
  std::int64_t position() const { return size() - begin_; }

  const Units units_;
  const std::optional<Vocabulary> given_;
  const std::int64_t max_symbols_;
  std::vector<char32_t> symbols_;  ///< by id
  SymbolIndex index_;              ///< of them
  std::shared_ptr<std::vector<std::byte>> bytes_ = std::make_shared<std::vector<std::byte>>();
  int width_ = 1;                        ///< of an id in bytes_
  std::int64_t stored_ = 0, begin_ = 0;  ///< ids in bytes_; ids before the text being read
  std::vector<std::int32_t> run_;        ///< the last `filled_` ids
  std::size_t filled_ = 0;
  std::string name_;  ///< of the text being read
  UnknownCharacters unknown_;
};

}  // namespace chargpt
