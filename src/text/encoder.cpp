#include "text/encoder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace chargpt {
namespace {

constexpr std::size_t run_ids = std::size_t{1} << 16;

/// Those that have an id before anything is read.
std::vector<char32_t> known_symbols(Units units, const std::optional<Vocabulary>& given) {
  if (units == Units::characters) return given ? given->code_points() : std::vector<char32_t>();
  std::vector<char32_t> values(256);
  std::iota(values.begin(), values.end(), U'\0');
  return values;
}

/// A place in a source, for messages.
struct TextPlace {
  std::uint64_t offset = 0;  ///< bytes before it
  std::uint64_t line = 1;
  void advance(std::string_view bytes) {
    offset += bytes.size();
    line += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
  }
};

std::string shown(const TextPlace& place) {
  return line_of("offset ", place.offset, " (line ", place.line, ")");
}

constexpr const char* as_bytes = ", or use --units bytes";

/// Names the file's kind, where that is known, rather than the byte that shows it.
void refuse_kind(const TextSource& source) {
  if (const auto kind = kind_of(source))
    throw Error(ExitCode::data, source.name, " is ", kind->name, ", not plain UTF-8 text; ", kind->advice, as_bytes);
}

/// Of `piece`, at `place` of `source`, where it holds a NUL byte.
void refuse_binary(std::string_view piece, TextPlace place, const TextSource& source) {
  const std::size_t at = piece.find('\0');
  if (at == std::string_view::npos) return;
  refuse_kind(source);
  place.advance(piece.substr(0, at));
  throw Error(ExitCode::data, source.name, " is not a text: it has a NUL byte at ", shown(place),
              ", which no plain text has; give a plain text (UTF-8)", as_bytes);
}

/// `rest`, at `place` of `source`, does not start with a character.
[[noreturn]] void refuse_encoding(std::string_view rest, const TextPlace& place, const TextSource& source) {
  refuse_kind(source);
  throw Error(ExitCode::data, source.name, " is not UTF-8: ", describe_fault(rest, shown(place)),
              "; convert it (iconv -f WINDOWS-1252 -t UTF-8)", as_bytes);
}

/// Bytes to set aside for those expected, so that few are copied as they become more: a file can say any size, as one
/// with holes does.
std::uint64_t room_for(std::uint64_t bytes) {
  return std::min(bytes, std::uint64_t{4} << 30);
}

/// function(Id{}) for the type of ids of this width.
template <class Function>
void with_id_type(int width, Function&& function) {
  if (width == 1) return function(std::uint8_t{});
  if (width == 2) return function(std::uint16_t{});
  function(std::uint32_t{});
}

}  // namespace

int narrowest_width(std::int64_t symbols) {
  return symbols <= 1 << 8 ? 1 : symbols <= 1 << 16 ? 2 : 4;
}

void append_id(std::vector<std::byte>& to, std::int64_t id, int width) {
  for (int byte = 0; byte < width; ++byte) to.push_back(static_cast<std::byte>(id >> 8 * byte));
}

Encoder::Encoder(Units units, std::int64_t max_symbols, const std::optional<Vocabulary>& vocabulary,
                 std::uint64_t bytes)
    : units_(units),
      given_(vocabulary),
      max_symbols_(max_symbols),
      symbols_(known_symbols(units, vocabulary)),
      index_(symbols_),
      width_(narrowest_width(std::ssize(symbols_))),
      run_(run_ids) {
  bytes_->reserve(room_for(bytes));
}

bool Encoder::read(const TextSource& source) {
  name_ = source.name;
  begin_ = size();
  TextReader reader(source);
  if (units_ == Units::characters)
    read_characters(reader, source);
  else
    for (std::string_view piece = reader.next(); !piece.empty(); piece = reader.next()) encode_all(piece);
  if (unknown_.empty()) return reader.skipped() > 0;
  throw Error(ExitCode::data, unknown_.message(name_, "leave them out, or train a model on a text that has them"));
}

void Encoder::read_characters(TextReader& reader, const TextSource& source) {
  TextPlace place{.offset = reader.skipped()};
  std::string_view rest;
  while (true) {
    const std::string_view piece = reader.next(rest.size());
    if (piece.size() == rest.size()) break;
    refuse_binary(piece, place, source);
    const std::size_t used = decode_utf8(piece, *this);
    place.advance(piece.substr(0, used));
    rest = piece.substr(used);
    // Only a cut-off character can be completed by the next piece.
    if (!rest.empty() && decode_character(rest).fault != cut_off) break;
  }
  if (!rest.empty()) refuse_encoding(rest, place, source);
}

template <class Characters>
void Encoder::encode_all(Characters characters) {
  while (!characters.empty()) {
    const std::size_t length = std::min(characters.size(), run_.size() - filled_);
    encode(characters.data(), length);
    characters = Characters(characters.data() + length, characters.size() - length);
  }
}

/// What fits the run. Nearly always every character has an id already: then the first loop is all.
template <class Character>
void Encoder::encode(const Character* from, std::size_t length) {
  std::int32_t* const to = run_.data() + filled_;
  const SymbolIndex::View ids = index_.view();
  std::int32_t all = 0;  // negative as soon as one is
  for (std::size_t i = 0; i < length; ++i) all |= to[i] = ids[code_point_of(from[i])];
  if (all < 0)
    for (std::size_t i = 0; i < length; ++i)
      if ((to[i] = index_[code_point_of(from[i])]) < 0)
        to[i] = id_of_unseen(code_point_of(from[i]), position() + static_cast<std::int64_t>(i));
  filled_ += length;
  if (filled_ == run_.size()) flush();
}

std::int32_t Encoder::id_of_unseen(char32_t symbol, std::int64_t position) {
  if (given_) {
    unknown_.note(symbol, position);
    return 0;
  }
  if (std::ssize(symbols_) == max_symbols_)
    throw Error(ExitCode::data, name_, " has more than ", max_symbols_,
                " distinct characters (data.max_symbols) by character ", position,
                ": it is probably not plain text, or in the wrong encoding; check the file, use --units bytes, or "
                "raise data.max_symbols");
  index_.add(symbol, static_cast<std::int32_t>(symbols_.size()));
  symbols_.push_back(symbol);
  return static_cast<std::int32_t>(symbols_.size()) - 1;
}

void Encoder::flush() {
  if (const int width = narrowest_width(std::ssize(symbols_)); width != width_) widen(width);
  const std::size_t before = bytes_->size();
  bytes_->resize(before + filled_ * static_cast<std::size_t>(width_));
  with_id_type(width_, [&]<class Id>(Id) {
    auto* to = reinterpret_cast<Id*>(bytes_->data() + before);
    for (std::size_t i = 0; i < filled_; ++i) to[i] = static_cast<Id>(run_[i]);
  });
  stored_ += static_cast<std::int64_t>(filled_);
  filled_ = 0;
}

/// All ids so far in a greater width.
void Encoder::widen(int width) {
  auto wider = std::make_shared<std::vector<std::byte>>();
  wider->reserve(room_for(bytes_->capacity() / static_cast<std::size_t>(width_) * static_cast<std::size_t>(width)));
  wider->resize(static_cast<std::size_t>(stored_ * width));
  with_id_type(width_, [&]<class From>(From) {
    with_id_type(width, [&]<class To>(To) {
      const auto* from = reinterpret_cast<const From*>(bytes_->data());
      auto* to = reinterpret_cast<To*>(wider->data());
      for (std::int64_t i = 0; i < stored_; ++i) to[i] = static_cast<To>(from[i]);
    });
  });
  bytes_ = std::move(wider);
  width_ = width;
}

/// Ids in the order of code points.
void Encoder::renumber() {
  std::vector<std::uint32_t> order(symbols_.size()), place(symbols_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [this](std::uint32_t id) { return symbols_[id]; });
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  with_id_type(width_, [&]<class Id>(Id) {
    auto* ids = reinterpret_cast<Id*>(bytes_->data());
    for (std::int64_t i = 0; i < stored_; ++i) ids[i] = static_cast<Id>(place[ids[i]]);
  });
  std::ranges::sort(symbols_);
}

EncodedText Encoder::finish() {
  flush();
  const bool made = !given_ && units_ == Units::characters && stored_ > 0;
  if (made) renumber();
  return {given_ ? *given_
          : made ? Vocabulary::of_characters(symbols_)
                 : Vocabulary::of_bytes(),
          bytes_, TokenView(bytes_->data(), width_, stored_)};
}

}  // namespace chargpt
