#include "text/encode.h"

#include <algorithm>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "text/encoding.h"

namespace chargpt {
namespace {

[[noreturn]] void refuse(const TextBytes& text) {
  const Evidence evidence = evidence_of({text.bytes.data() - text.mark_bytes, text.bytes.size() + text.mark_bytes});
  const bool is_text = !evidence.command.empty();
  throw Error(ExitCode::data, text.name, " is ", evidence.what, is_text ? "; " : ", not plain UTF-8 text; ",
              evidence.advice, is_text ? ": " + command_line(evidence, text.owner ? text.name : "FILE") + ";" : ",",
              " or train with --units bytes");
}

std::vector<char32_t> marked(const CharacterMarks& marks) {
  std::vector<char32_t> characters;
  for (char32_t character = 0; character < marks.size(); ++character)
    if (marks[character] != 0) characters.push_back(character);
  return characters;
}

template <class Id>
void encode_as(const ArrangedDocuments& arranged, std::int64_t boundary, std::int64_t unknown,
               const Heartbeat& heartbeat, CorpusParts& parts) {
  constexpr std::size_t part_bytes = std::size_t{4} << 20;
  const SymbolIndex index(parts.vocabulary, static_cast<std::int32_t>(unknown));
  const std::size_t most = static_cast<std::size_t>(arranged.symbols) + arranged.documents.size() + 2;
  const std::shared_ptr<std::byte[]> owner(new std::byte[most * sizeof(Id)]);
  Id *const begin = reinterpret_cast<Id*>(owner.get()), *end = begin;
  std::int64_t val = 0, test = 0;  // positions of the ids before their first documents
  const auto end_document = [&](std::size_t next) {
    if (next == arranged.first_val) val = end - begin;
    if (next == arranged.first_test) test = end - begin;
    if (boundary >= 0) *end++ = static_cast<Id>(boundary);
  };
  end_document(0);
  for (std::size_t i = 0; i < arranged.documents.size(); ++i) {
    for (std::string_view rest = arranged.documents[i].text; !rest.empty();) {
      const std::size_t used = each_symbol(rest.substr(0, part_bytes), parts.vocabulary.units(), [&](char32_t symbol) {
        const std::int32_t id = index[symbol];
        *end = static_cast<Id>(id);  // if negative, the next id overwrites it
        end += id >= 0 ? 1 : 0;
      });
      rest.remove_prefix(used);
      beat(heartbeat, end - begin, static_cast<std::int64_t>(most));
    }
    end_document(i + 1);
  }
  beat(heartbeat, 1, 1);
  parts.owner = owner;
  parts.tokens = TokenView(begin, sizeof(Id), end - begin, boundary);
  if (boundary >= 0) parts.splits = {.train = {0, val + 1}, .val = {val, test + 1}, .test = {test, end - begin}};
}

}  // namespace

std::int64_t mark_characters(const TextBytes& text, CharacterMarks& marks) {
  const std::size_t end = std::min(text.bytes.find('\0'), text.bytes.size());
  std::int64_t count = 0;
  const std::size_t used = decode_utf8(text.bytes.substr(0, end), [&, mark = marks.data()](char32_t character) {
    mark[character] = 1;
    ++count;
  });
  if (used < text.bytes.size()) refuse(text);
  return count;
}

std::vector<char32_t> marked_characters(std::span<const TextBytes> texts, const CharacterMarks& marks,
                                        std::int64_t most) {
  std::vector<char32_t> characters = marked(marks);
  if (std::ssize(characters) > most)
    throw Error(ExitCode::data, names_of(texts), " has ", characters.size(), " distinct characters, more than ", most,
                " (data.max_symbols): probably no plain text, or in the wrong encoding; check the file, use --units "
                "bytes, or raise data.max_symbols");
  return characters;
}

std::string unknown_characters(std::span<const TextBytes> texts, const CharacterMarks& marks, const DataConfig& data,
                               const Vocabulary& vocabulary, std::optional<UnknownPolicy> policy) {
  const auto is_unknown = [&](char32_t character) { return vocabulary.id_of(character) < 0; };
  if (vocabulary.units() == Units::bytes || std::ranges::none_of(marked(marks), is_unknown)) return "";
  const bool strict = !policy || policy == UnknownPolicy::error;
  UnknownCharacters unknown(vocabulary);
  for (const TextBytes& text : texts) {
    const char* end = text.bytes.data();  // of the previous document
    std::int64_t position = 0;
    for (const std::string_view document : documents_of(text.bytes, data)) {
      position += static_cast<std::int64_t>(count_characters({end, document.data()}));
      decode_utf8(document, [&](char32_t character) {
        if (is_unknown(character))
          unknown.note(character, strict || texts.size() == 1 ? position : UnknownCharacters::no_place);
        ++position;
      });
      end = document.data() + document.size();
    }
    if (strict && !unknown.empty())
      throw Error(ExitCode::data,
                  unknown.message(text.name, policy ? "leave them out, or --unknown skip"
                                                    : "leave them out, or train a model on a text that has them"));
  }
  return unknown.empty() ? "" : unknown.message(names_of(texts), outcome_of(*policy, vocabulary));
}

void encode(const ArrangedDocuments& arranged, std::int64_t boundary, std::int64_t unknown, const Heartbeat& heartbeat,
            CorpusParts& parts) {
  const std::int64_t symbols = parts.vocabulary.size();
  if (symbols <= 1 << 8) return encode_as<std::uint8_t>(arranged, boundary, unknown, heartbeat, parts);
  if (symbols <= 1 << 16) return encode_as<std::uint16_t>(arranged, boundary, unknown, heartbeat, parts);
  return encode_as<std::uint32_t>(arranged, boundary, unknown, heartbeat, parts);
}

}  // namespace chargpt
