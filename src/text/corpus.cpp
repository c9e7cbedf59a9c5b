#include "text/corpus.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "text/documents.h"
#include "text/encoding.h"
#include "text/text_bytes.h"

namespace chargpt {
namespace {

/// By code point: 1 if the text has that character.
using CharacterMarks = std::vector<char>;

/// int((1 - fraction) * n) as for the decimal that the user wrote: 1 - 0.8 is taken as 0.2, not as its double
/// 0.19999999999999996.
std::int64_t size_without(double fraction, std::int64_t tokens) {
  constexpr double decimals = 1e12;
  const double rest = std::round((1.0 - fraction) * decimals) / decimals;
  return static_cast<std::int64_t>(rest * static_cast<double>(tokens));
}

/// Adds notices about flaws of the texts, one line per flaw.
void add_notices(std::span<const TextBytes> texts, Units units, std::vector<std::string>& notices) {
  std::map<std::string, std::vector<std::string>> names;  // by flaw
  for (const TextBytes& text : texts)
    for (const std::string& flaw : flaws_of(text, units)) names[flaw].push_back(text.name);
  for (const auto& [flaw, of] : names) notices.push_back(some_of(of) + ": " + flaw);
}

[[noreturn]] void refuse(const TextBytes& text) {
  const Evidence evidence = evidence_of({text.bytes.data() - text.mark_bytes, text.bytes.size() + text.mark_bytes});
  const bool is_text = !evidence.command.empty();
  throw Error(ExitCode::data, text.name, " is ", evidence.what, is_text ? "; " : ", not plain UTF-8 text; ",
              evidence.advice, is_text ? ": " + command_line(evidence, text.owner ? text.name : "FILE") + ";" : ",",
              " or train with --units bytes");
}

/// The marked characters, in ascending order.
std::vector<char32_t> marked(const CharacterMarks& marks) {
  std::vector<char32_t> characters;
  for (char32_t character = 0; character < marks.size(); ++character)
    if (marks[character] != 0) characters.push_back(character);
  return characters;
}

/// Marks the characters of a text and returns how many characters it has. Error data if it is not UTF-8 (with offset
/// and line), is binary, or is another kind of file.
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

/// Divides the texts into documents, or takes each text whole. Marks the characters that occur.
ArrangedDocuments documents_of(std::span<const TextBytes> texts, const DataConfig& data, Units units,
                               CharacterMarks& marks) {
  ArrangedDocuments whole;
  std::vector<std::string_view> files;
  for (const TextBytes& text : texts) {
    whole.symbols += units == Units::characters ? mark_characters(text, marks) : std::ssize(text.bytes);
    whole.documents.push_back({text.bytes, 0});
    files.push_back(text.bytes);
  }
  if (whole.symbols == 0)
    throw Error(ExitCode::data, names_of(texts), texts.size() == 1 ? " is empty" : " are empty",
                "; a text needs characters");
  if (!has_documents(data)) return whole;
  marks.assign(marks.size(), 0);
  ArrangedDocuments arranged = arrange_documents(files, data, units, marks);
  if (arranged.documents.empty())
    throw Error(ExitCode::data, names_of(texts), data.separator.empty() ? " holds blank lines" : " holds separators",
                " only; a text needs documents to learn from");
  return arranged;
}

/// The vocabulary of the marked characters. Error data, naming the texts, if there are more than data.max_symbols.
Vocabulary vocabulary_of(std::span<const TextBytes> texts, const CharacterMarks& marks, const DataConfig& data) {
  std::vector<char32_t> characters = marked(marks);
  if (data.units == Units::characters && std::ssize(characters) > data.max_symbols)
    throw Error(ExitCode::data, names_of(texts), " has ", characters.size(), " distinct characters, more than ",
                data.max_symbols,
                " (data.max_symbols): probably no plain text, or in the wrong encoding; check the file, use --units "
                "bytes, or raise data.max_symbols");
  const Vocabulary vocabulary =
      data.units == Units::bytes ? Vocabulary::of_bytes() : Vocabulary::of_characters(std::move(characters));
  return has_documents(data) ? vocabulary.with_documents() : vocabulary;
}

/// Error data if a text has characters that the vocabulary lacks, naming the first such text. With the policy skip or
/// replace, returns a notice about them instead; "" if there are none.
std::string unknown_characters(std::span<const TextBytes> texts, const CharacterMarks& marks, const DataConfig& data,
                               const Vocabulary& vocabulary, std::optional<UnknownPolicy> policy) {
  const auto is_unknown = [&](char32_t character) { return vocabulary.id_of(character) < 0; };
  if (vocabulary.units() == Units::bytes || std::ranges::none_of(marked(marks), is_unknown)) return "";
  const bool strict = !policy || policy == UnknownPolicy::error;
  UnknownCharacters unknown;
  for (const TextBytes& text : texts) {
    const char* end = text.bytes.data();  // of the previous document
    std::int64_t position = 0;
    for (const std::string_view document : documents_of(text.bytes, data)) {
      position += static_cast<std::int64_t>(count_characters({end, document.data()}));
      decode_utf8(document, [&](char32_t character) {
        if (is_unknown(character)) unknown.try_emplace(character, strict || texts.size() == 1 ? position : no_place);
        ++position;
      });
      end = document.data() + document.size();
    }
    if (strict && !unknown.empty())
      throw Error(ExitCode::data, message_about(unknown, vocabulary, text.name,
                                                policy ? "leave them out, or --unknown skip"
                                                       : "leave them out, or train a model on a text that has them"));
  }
  return unknown.empty() ? "" : message_about(unknown, vocabulary, names_of(texts), outcome_of(*policy, vocabulary));
}

/// Encodes as encode(), with ids of this type.
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

/// Encodes all documents with the narrowest ids (1, 2 or 4 bytes) of parts.vocabulary, and sets parts.tokens, its owner
/// and parts.splits. `boundary`: the id before the first document and after each one; -1: none, which leaves the splits
/// as they are. `unknown`: the id for characters that the vocabulary lacks; -1: skip them.
void encode(const ArrangedDocuments& arranged, std::int64_t boundary, std::int64_t unknown, const Heartbeat& heartbeat,
            CorpusParts& parts) {
  const std::int64_t symbols = parts.vocabulary.size();
  if (symbols <= 1 << 8) return encode_as<std::uint8_t>(arranged, boundary, unknown, heartbeat, parts);
  if (symbols <= 1 << 16) return encode_as<std::uint16_t>(arranged, boundary, unknown, heartbeat, parts);
  return encode_as<std::uint32_t>(arranged, boundary, unknown, heartbeat, parts);
}

Corpus encoded(std::span<const TextBytes> texts, TextListing listing, const DataConfig& data,
               const std::optional<Vocabulary>& known, std::optional<UnknownPolicy> policy,
               const Heartbeat& heartbeat) {
  const Units units = known ? known->units() : data.units;
  CharacterMarks marks(code_point_limit);
  const ArrangedDocuments arranged = documents_of(texts, data, units, marks);
  CorpusParts parts{.vocabulary = known ? *known : vocabulary_of(texts, marks, data), .listing = std::move(listing)};
  const Vocabulary& vocabulary = parts.vocabulary;
  parts.notices = parts.listing.notices;
  const std::string unknown = unknown_characters(texts, marks, data, vocabulary, policy);
  const bool replace = policy == UnknownPolicy::replace;
  encode(arranged, has_documents(data) ? vocabulary.document() : -1, replace ? vocabulary.replacement() : -1, heartbeat,
         parts);
  if (parts.tokens.size() == 0) throw Error(ExitCode::data, names_of(texts), " has no character that the model knows");
  if (!has_documents(data)) {
    parts.splits = splits_by_position(parts.tokens.size(), data);
  } else {
    parts.separator_missing = arranged.separator_missing;
    const std::size_t documents = arranged.documents.size(), tests = documents - arranged.first_test;
    if (holds_out(data) && documents > 1)
      parts.notices.push_back(line_of(documents, " documents, ", arranged.first_test - arranged.first_val,
                                      " of them held out", tests > 0 ? line_of(", and ", tests, " for the test") : ""));
  }
  add_notices(texts, units, parts.notices);
  if (!unknown.empty()) parts.notices.push_back(unknown);
  return {std::move(parts), data};
}

}  // namespace

Corpus::Corpus(CorpusParts parts, const DataConfig& data)
    : parts_(std::move(parts)), data_(data), fingerprint_{all().size(), crc64(all().bytes())} {}

TokenView Corpus::scored_part(const IdRange& part) const {
  const TokenView most = all().slice(part.begin, std::min(part.size(), data_.max_val_tokens));
  std::int64_t size = most.size();
  if (is_divided())
    while (size > 1 && most[size - 1] != most.document()) --size;
  return size > 1 ? most.slice(0, size) : most;  // the beginning of a document that exceeds the limit
}

Splits splits_by_position(std::int64_t tokens, const DataConfig& data) {
  const std::int64_t val = size_without(data.val_fraction + data.test_fraction, tokens),
                     test = size_without(data.test_fraction, tokens);
  return {.train = {0, val}, .val = {val, test}, .test = {test, tokens}};
}

Corpus load_corpus(const DataConfig& data, const std::optional<Vocabulary>& vocabulary, const Heartbeat& heartbeat,
                   std::optional<UnknownPolicy> unknown) {
  TextListing listing = list_texts(data.text, vocabulary ? vocabulary->units() : data.units);
  const double all = static_cast<double>(std::max<std::uint64_t>(listing.bytes(), 1));
  std::vector<TextBytes> texts;
  double done = 0;  // reading is the first half of the work
  for (TextFile& file : listing.files) {
    const double begin = done / all / 2, end = (done += static_cast<double>(file.bytes)) / all / 2;
    texts.push_back(read_text(file, part_heartbeat(heartbeat, begin, end)));
    file.bytes = texts.back().bytes.size();
    file.crc64 = crc64(texts.back().bytes);
  }
  return encoded(texts, std::move(listing), data, vocabulary, unknown, part_heartbeat(heartbeat, 0.5, 1));
}

Corpus corpus_from_text(std::string_view text, const DataConfig& data, const std::string& source,
                        const std::optional<Vocabulary>& vocabulary, std::optional<UnknownPolicy> unknown) {
  return encoded(std::vector{text_in_memory(source, text)}, {}, data, vocabulary, unknown, {});
}

void check_splits(const Corpus& corpus, std::int64_t block_size) {
  const DataConfig& data = corpus.data();
  if (corpus.parts().separator_missing)
    throw Error(ExitCode::data, "data.separator = '", printable(data.separator), "' does not occur in the text",
                "; see --documents for other ways to cut it");
  const bool tests = data.test_fraction > 0;
  const std::int64_t needed = block_size + 1, train = corpus.train().size(), val = corpus.val().size(),
                     test = corpus.test().size(), shortest = std::min({train, val, tests ? test : val});
  if (shortest >= needed) return;
  throw Error(ExitCode::data, "the text has ", corpus.all().size(), " tokens, ", train, " to train on, ", val,
              " to validate on", tests ? line_of(" and ", test, " to test on") : "",
              ", but each needs at least model.block_size + 1 = ", needed, ": ",
              corpus.is_divided() ? "add documents, or leave them undivided (--documents none)" : "use a longer text",
              shortest < 2 ? "" : line_of(", or give --block_size ", shortest - 1, " or less"));
}

}  // namespace chargpt
