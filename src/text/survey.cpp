#include "text/survey.h"

#include "base/error.h"
#include "text/unknown_characters.h"

namespace chargpt {
namespace {

/// One flag per code point, a byte each, so that a character costs one read.
using CodePointFlags = std::vector<std::uint8_t>;

[[noreturn]] void refuse_symbols(const std::string& name, std::int64_t max_symbols, std::int64_t position) {
  throw Error(ExitCode::data,
              name + " has more than " + std::to_string(max_symbols) +
                  " distinct characters (data.max_symbols) by character " + std::to_string(position) +
                  ": it is probably not plain text, or in the wrong encoding; check the file, use --units bytes, or "
                  "raise data.max_symbols");
}

std::int64_t count_bytes(const std::vector<TextSource>& sources) {
  std::int64_t count = 0;
  for (const TextSource& source : sources) read_bytes(source, [&count](char32_t) { ++count; });
  return count;
}

std::vector<char32_t> marked(const CodePointFlags& seen) {
  std::vector<char32_t> code_points;
  for (char32_t code_point = 0; code_point < seen.size(); ++code_point)
    if (seen[code_point]) code_points.push_back(code_point);
  return code_points;
}

/// Whether every character has a flag.
template <class Characters>
bool all_flagged(const CodePointFlags& flags, const Characters& characters) {
  std::uint8_t all = 1;
  for (const auto character : characters) all &= flags[code_point_of(character)];
  return all != 0;
}

/// Counts characters and hands those without a flag to `unseen`, which must give them one.
template <class Unseen>
struct Counter {
  const CodePointFlags& flags;
  std::int64_t& count;
  const Unseen& unseen;

  void operator()(char32_t code_point) {
    if (flags[code_point] == 0) unseen(code_point);
    ++count;
  }
  void single_bytes(std::string_view text) { count_all(text); }
  void characters(std::span<const char32_t> text) { count_all(text); }

 private:
  template <class Characters>
  void count_all(const Characters& characters) {
    if (all_flagged(flags, characters))
      count += std::ssize(characters);
    else
      for (const auto character : characters) (*this)(code_point_of(character));
  }
};

Survey make_vocabulary(const std::vector<TextSource>& sources, std::int64_t max_symbols) {
  CodePointFlags seen(code_point_limit, 0);
  std::int64_t distinct = 0, tokens = 0;
  for (const TextSource& source : sources) {
    const std::int64_t before = tokens;
    const auto note = [&](char32_t code_point) {
      if (++distinct > max_symbols) refuse_symbols(source.name(), max_symbols, tokens - before);
      seen[code_point] = 1;
    };
    read_characters(source, Counter<decltype(note)>{seen, tokens, note});
  }
  if (tokens == 0) return {};
  return {Vocabulary::of_characters(marked(seen)), tokens};
}

std::int64_t count_known(const std::vector<TextSource>& sources, const Vocabulary& vocabulary) {
  CodePointFlags known(code_point_limit, 0);
  for (const char32_t code_point : vocabulary.code_points()) known[code_point] = 1;
  std::int64_t tokens = 0;
  for (const TextSource& source : sources) {
    UnknownCharacters unknown;
    const std::int64_t before = tokens;
    const auto note = [&](char32_t code_point) { unknown.note(code_point, tokens - before); };
    read_characters(source, Counter<decltype(note)>{known, tokens, note});
    if (!unknown.empty())
      throw Error(ExitCode::data,
                  unknown.message(source.name(), "leave them out, or train a model on a text that has them"));
  }
  return tokens;
}

}  // namespace

Survey survey_texts(const std::vector<TextSource>& sources, const DataConfig& data,
                    const std::optional<Vocabulary>& vocabulary) {
  if ((vocabulary ? vocabulary->units() : data.units) == Units::bytes)
    return {Vocabulary::of_bytes(), count_bytes(sources)};
  if (vocabulary) return {*vocabulary, count_known(sources, *vocabulary)};
  return make_vocabulary(sources, data.max_symbols);
}

}  // namespace chargpt
