#include "text/corpus.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "text/documents.h"
#include "text/encoder.h"
#include "text/text_source.h"

namespace chargpt {
namespace {

/// int((1 - fraction) * n) as Python computes it for the decimal number that was meant: 1 - 0.8 is taken as 0.2, the
/// double nearest to it, not as 0.19999999999999996.
std::int64_t size_without(double fraction, std::int64_t tokens) {
  constexpr double decimals = 1e12;
  const double rest = std::round((1.0 - fraction) * decimals) / decimals;
  return static_cast<std::int64_t>(rest * static_cast<double>(tokens));
}
std::int64_t train_size(std::int64_t tokens, const Holdout& holdout) {
  return size_without(holdout.fraction + holdout.test, tokens);
}

/// What comes once and has no known size, held in memory.
TextSource held(const TextFile& file, const ReadingProgress& progress) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
  const auto note = [&](std::uint64_t bytes) {
    if (progress) progress(bytes, 0);
  };
  TextSource source = file.kind == TextKind::pipe ? TextSource::pipe(file.path, most_bytes, note)
                                                  : TextSource::standard_input(most_bytes, note);
  const std::uint64_t read = source.bytes->size();
  if (progress && read > 0) progress(read, read);
  return source;
}

TextSource source_of(const TextFile& file, const ReadingProgress& progress) {
  if (file.kind == TextKind::file) return TextSource::file(file.path);
  if (file.kind == TextKind::pipe) return held(file, progress);
  if (file.kind == TextKind::sample)
    return TextSource::in_memory(std::string(sample_text_name), std::string(sample_text()));
  static const TextSource standard_input = held(file, progress);  // a second reading would find nothing
  return standard_input;
}

/// Tells `progress` of long files: one that takes long enough to be watched.
void watch(std::vector<TextSource>& sources, std::uint64_t bytes, const ReadingProgress& progress) {
  constexpr std::uint64_t long_text = std::uint64_t{64} << 20;
  if (!progress || bytes <= long_text) return;
  const auto done = std::make_shared<std::uint64_t>(0);
  const auto note = [done, bytes, progress](std::uint64_t count) {
    *done = std::min(*done + count, bytes);
    progress(*done, bytes);
  };
  for (TextSource& source : sources) source.note = note;
}

/// "32033 documents, 3203 of them held out; 2539 (8 %) are duplicates, kept on the same side of the split"
std::string description_of(const ArrangedDocuments& documents) {
  const std::int64_t count = documents.split.count, repeats = documents.repeats;
  std::string text =
      count == 1 ? "1 document" : line_of(count, " documents, ", documents.split.held_out, " of them held out");
  if (documents.test > 0) text += line_of(", and ", documents.test, " for the test");
  if (repeats > 0) {
    const std::string percent = 100 * repeats < count ? "under 1" : std::to_string(100 * repeats / count);
    text += line_of("; ", repeats, " (", percent, repeats == 1 ? " %) is a duplicate" : " %) are duplicates",
                    ", kept on the same side of the split");
  }
  return text;
}

/// Reads all sources, which are those of `listing`, each once.
Corpus encoded(TextListing listing, const std::vector<TextSource>& sources, const DataConfig& data,
               const std::optional<Vocabulary>& vocabulary, std::uint64_t bytes) {
  const Units units = vocabulary ? vocabulary->units() : data.units;
  // What stands between documents is of no vocabulary: they are looked for in all that the text holds.
  Encoder encoder(units, data.max_symbols, has_documents(data) ? std::nullopt : vocabulary, bytes);
  std::vector<std::string> names, marked, others, notices = listing.notices;
  std::vector<std::int64_t> ends;
  for (const TextSource& source : sources) {
    if (encoder.read(source)) marked.push_back(source.name);
    names.push_back(source.name);
    ends.push_back(encoder.size());
  }
  EncodedText text = encoder.finish();
  if (text.tokens.size() == 0)
    throw Error(ExitCode::data, some_of(names), sources.size() == 1 ? " is empty" : " are empty",
                "; a text needs characters to learn from");
  DocumentSplit documents;
  if (has_documents(data)) {
    const ArrangedDocuments arranged = arrange_documents(text, ends, data, vocabulary, some_of(names));
    text = arranged.text;
    documents = arranged.split;
    notices.push_back(description_of(arranged));
  }
  if (text.vocabulary.units() == Units::bytes)
    for (const TextSource& source : sources)
      if (const auto kind = kind_of(source)) others.push_back(source.name + " is " + std::string(kind->name));
  if (!marked.empty()) notices.push_back(some_of(marked) + ": byte order mark removed");
  if (!others.empty()) notices.push_back(some_of(others) + ": the model learns its bytes as they are");
  const Holdout holdout{.fraction = data.val_fraction, .most = data.max_val_tokens, .test = data.test_fraction};
  return {std::move(text.vocabulary), text.tokens,        text.bytes, holdout,
          std::move(notices),         std::move(listing), documents};
}

bool all_hold(std::int64_t needed, std::int64_t tokens, const Holdout& holdout) {
  const std::int64_t train = train_size(tokens, holdout), test_begin = size_without(holdout.test, tokens);
  return train >= needed && test_begin - train >= needed && (holdout.test == 0 || tokens - test_begin >= needed);
}

/// The length from which each split holds `needed` tokens; none where one split is less than a millionth of any text.
std::optional<std::int64_t> sufficient_length(std::int64_t needed, const Holdout& holdout) {
  double smallest = std::min(holdout.fraction, 1 - holdout.fraction - holdout.test);
  if (holdout.test > 0) smallest = std::min(smallest, holdout.test);
  if (smallest < 1e-6) return std::nullopt;
  auto length = static_cast<std::int64_t>(static_cast<double>(needed - 1) / smallest);
  while (!all_hold(needed, length, holdout)) ++length;
  return length;
}

/// The smallest val_fraction, in hundredths, that gives each split `needed` of `tokens` tokens, if there is one.
std::optional<std::string> sufficient_val_fraction(std::int64_t needed, std::int64_t tokens, double test_fraction) {
  for (int hundredths = 1; hundredths <= 90; ++hundredths)
    if (all_hold(needed, tokens, {.fraction = hundredths / 100.0, .test = test_fraction}))
      return formatted("%.2f", hundredths / 100.0);
  return std::nullopt;
}

/// The ways out, most useful last: another text, other windows, another split. Where whole documents are held out,
/// their lengths decide what a longer text or another fraction comes to.
std::string what_would_do(const Corpus& corpus, std::int64_t needed) {
  std::vector<std::string> choices;
  const double test = corpus.holdout().test;
  const bool documents = corpus.documents().count > 0;
  const bool limited = (corpus.val().size() < needed && corpus.val_tokens() >= needed) ||
                       (corpus.test().size() < needed && corpus.test_tokens() >= needed);
  if (limited)
    choices.push_back("set data.max_val_tokens to " + std::to_string(needed) + " or more");
  else if (documents && corpus.holdout().fraction == 0)
    choices.push_back("set data.val_fraction above 0, such as 0.1");
  else if (documents)
    choices.push_back("add documents");
  else if (const auto length = sufficient_length(needed, corpus.holdout()))
    choices.push_back("use a text of at least " + std::to_string(*length) + " tokens");
  std::int64_t shortest = std::min(corpus.train().size(), corpus.val().size());
  if (test > 0) shortest = std::min(shortest, corpus.test().size());
  const std::int64_t half = corpus.all().size() / 2;
  if (shortest >= 2) {
    choices.push_back("set model.block_size to " + std::to_string(shortest - 1) + " or less");
  } else if (half >= 2 && test == 0 && !limited && !documents) {
    choices.push_back("set data.val_fraction to 0.5 and model.block_size to " + std::to_string(half - 1) + " or less");
  }
  if (const auto fraction = sufficient_val_fraction(needed, corpus.all().size(), test);
      fraction && !limited && !documents)
    choices.push_back("set data.val_fraction to " + *fraction);
  if (choices.empty()) return "use a longer text";
  return joined(choices, ", or ");
}

}  // namespace

Corpus::Corpus(Vocabulary vocabulary, TokenView tokens, std::shared_ptr<const void> owner, const Holdout& holdout,
               std::vector<std::string> notices, TextListing listing, const DocumentSplit& documents)
    : vocabulary_(std::move(vocabulary)),
      tokens_(tokens),
      owner_(std::move(owner)),
      holdout_(holdout),
      documents_(documents),
      train_size_(documents.count > 0 ? documents.held_out_begin + 1 : train_size(tokens.size(), holdout)),
      test_begin_(documents.count > 0 ? documents.test_begin + 1 : size_without(holdout.test, tokens.size())),
      fingerprint_{tokens.size(), crc64(tokens.bytes())},
      notices_(std::move(notices)),
      listing_(std::move(listing)) {
  if (val_tokens() > holdout_.most)
    notices_.push_back("validation scores the first " + std::to_string(holdout_.most) + " of the " +
                       std::to_string(val_tokens()) + " tokens held out (data.max_val_tokens)");
}

TokenView Corpus::scored_part(std::int64_t begin, std::int64_t end) const {
  if (documents_.count == 0) return tokens_.slice(begin, std::min(end - begin, holdout_.most));
  --begin;
  const std::int64_t most = std::min(end - begin, holdout_.most);
  std::int64_t size = most;
  while (size > 1 && tokens_[begin + size - 1] != tokens_.document()) --size;
  return tokens_.slice(begin, size > 1 ? size : most);  // of a document longer than that, its beginning
}

std::int64_t test_size(std::int64_t tokens, const DataConfig& data) {
  return tokens - size_without(data.test_fraction, tokens);
}

Corpus load_listed(TextListing listing, const DataConfig& data, const std::optional<Vocabulary>& vocabulary,
                   const ReadingProgress& progress) {
  const std::uint64_t bytes = listing.bytes();
  std::vector<TextSource> sources;
  for (const TextFile& file : listing.files) sources.push_back(source_of(file, progress));
  watch(sources, bytes, progress);
  return encoded(std::move(listing), sources, data, vocabulary, bytes);
}

Corpus load_corpus(const DataConfig& data, const std::optional<Vocabulary>& vocabulary,
                   const ReadingProgress& progress) {
  return load_listed(list_texts(data.text, vocabulary ? vocabulary->units() : data.units), data, vocabulary, progress);
}

void check_splits(const Corpus& corpus, std::int64_t block_size) {
  if (const std::string& absent = corpus.documents().absent_separator; !absent.empty())
    throw Error(ExitCode::data, "data.separator = '", printable(absent),
                "' does not occur in the text; see --documents for other ways to cut it");
  const std::int64_t needed = block_size + 1;
  const bool tests = corpus.holdout().test > 0;
  if (corpus.train().size() >= needed && corpus.val().size() >= needed && (!tests || corpus.test().size() >= needed))
    return;
  const bool documents = corpus.documents().count > 0, none = corpus.documents().held_out == 0;
  const std::int64_t count = corpus.documents().count;
  if (documents && tests && corpus.holdout().fraction > 0 && (none || corpus.test_tokens() == 0))
    throw Error(ExitCode::data, "the text has ", count, count == 1 ? " document" : " documents",
                ", too few to hold out some for validation and others for the test; add to it, or leave out "
                "data.test_fraction");
  if (documents && none && corpus.holdout().fraction > 0)
    throw Error(ExitCode::data, "the text has ", count == 1 ? "one document" : "only equal documents",
                ", and validation needs another one; add to it, or train on it as it is: --documents none");
  throw Error(ExitCode::data, "the text has ", corpus.all().size(), corpus.all().size() == 1 ? " token, " : " tokens, ",
              corpus.train().size(), tests ? " to train on, " : " to train on and ", corpus.val().size(),
              tests ? line_of(" to validate on and ", corpus.test().size(), " to test on") : " to validate on",
              ", but each needs at least model.block_size + 1 = ", needed, ": ", what_would_do(corpus, needed));
}

Corpus corpus_from_text(std::string_view utf8, const DataConfig& data, const std::string& source,
                        const std::optional<Vocabulary>& vocabulary) {
  return encoded({}, {TextSource::in_memory(source, std::string(utf8))}, data, vocabulary, utf8.size());
}

Corpus in_vocabulary(const Corpus& corpus, const Vocabulary& vocabulary, UnknownPolicy policy, const std::string& what,
                     std::string& notice) {
  const std::vector<char32_t>& characters = corpus.vocabulary().code_points();
  std::vector<std::int64_t> ids;  // ours by theirs
  for (const char32_t character : characters) ids.push_back(vocabulary.id_of(character));
  ids.push_back(vocabulary.document());
  DocumentSplit documents = corpus.documents();
  const std::int64_t replacement = policy == UnknownPolicy::replace ? vocabulary.replacement() : -1;
  const int width = narrowest_width(vocabulary.size());
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  UnknownCharacters unknown;
  const TokenView all = corpus.all();
  for (std::int64_t i = 0; i < all.size(); ++i) {
    const auto theirs = static_cast<std::size_t>(all[i]);
    if (i == corpus.documents().held_out_begin) documents.held_out_begin = std::ssize(*bytes) / width;
    if (i == corpus.documents().test_begin) documents.test_begin = std::ssize(*bytes) / width;
    if (ids[theirs] < 0) unknown.note(characters[theirs], documents.count > 0 ? UnknownCharacters::no_place : i);
    const std::int64_t id = ids[theirs] < 0 ? replacement : ids[theirs];
    if (id >= 0) append_id(*bytes, id, width);
  }
  if (!unknown.empty() && policy == UnknownPolicy::error)
    throw Error(ExitCode::data, unknown.message(what, "leave them out, or --unknown skip"));
  notice = unknown.empty() ? "" : unknown.message(what, outcome_of(policy, vocabulary));
  if (bytes->empty()) throw Error(ExitCode::data, what, " has no character that the model knows");
  const TokenView tokens(bytes->data(), width, std::ssize(*bytes) / width, vocabulary.document());
  std::vector<std::string> notices = corpus.notices();
  if (corpus.val_tokens() > corpus.holdout().most) notices.pop_back();  // said anew, of what is left
  return {vocabulary, tokens, bytes, corpus.holdout(), notices, corpus.listing(), documents};
}

}  // namespace chargpt
