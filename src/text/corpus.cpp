#include "text/corpus.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "text/id_cache.h"
#include "text/survey.h"
#include "text/symbol_index.h"
#include "text/text_files.h"
#include "text/text_listing.h"
#include "text/text_source.h"
#include "text/unknown_characters.h"

namespace chargpt {
namespace {

constexpr std::size_t sink_ids = std::size_t{1} << 16;

int narrowest_width(std::int64_t symbols) {
  return symbols <= 1 << 8 ? 1 : symbols <= 1 << 16 ? 2 : 4;
}

Holdout holdout_of(const DataConfig& data) {
  return {.fraction = data.val_fraction, .most = data.max_val_tokens};
}

/// int((1 - val_fraction) * n) as Python computes it for the decimal number that was meant: 1 - 0.8 is taken as 0.2,
/// the double nearest to it, not as 0.19999999999999996.
std::int64_t train_size(std::int64_t tokens, double val_fraction) {
  constexpr double decimals = 1e12;
  const double train_fraction = std::round((1.0 - val_fraction) * decimals) / decimals;
  return static_cast<std::int64_t>(train_fraction * static_cast<double>(tokens));
}

Fingerprint fingerprint_of(const TokenView& tokens) {
  return {tokens.size(), crc64(tokens.bytes())};
}

std::vector<char32_t> symbols_in_order(const Vocabulary& vocabulary) {
  if (vocabulary.units() == Units::characters) return vocabulary.code_points();
  std::vector<char32_t> values(256);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char32_t>(i);
  return values;
}

[[noreturn]] void refuse_changed(const std::vector<TextSource>& sources) {
  const std::string which = sources.size() == 1 ? sources[0].name() : "one of the texts";
  throw Error(ExitCode::io, which + " changed while it was being read; try again when nothing writes to it");
}

/// Second pass: the ids of all sources as runs of Id.
template <class Id>
class Encoder {
 public:
  Encoder(const std::vector<TextSource>& sources, const Survey& survey, const IdSink& sink)
      : sources_(sources), survey_(survey), sink_(sink), index_(symbols_in_order(survey.vocabulary)), run_(sink_ids) {}

  void operator()(char32_t symbol) {
    const std::int32_t id = index_[symbol];
    if (id < 0) refuse_changed(sources_);
    run_[filled_++] = static_cast<Id>(id);
    if (filled_ == run_.size()) flush();
  }

  void single_bytes(std::string_view text) { encode_all(text, index_.view().first_page()); }
  void characters(std::span<const char32_t> text) { encode_all(text, index_.view()); }

  /// Error io unless there were as many symbols as the first pass saw.
  void finish() {
    flush();
    if (count_ != survey_.tokens) refuse_changed(sources_);
  }

 private:
  template <class Characters, class Ids>
  void encode_all(Characters characters, Ids ids) {
    while (!characters.empty()) {
      const std::size_t length = std::min(characters.size(), run_.size() - filled_);
      encode(characters.data(), length, ids);
      characters = Characters(characters.data() + length, characters.size() - length);
      if (filled_ == run_.size()) flush();
    }
  }

  /// What fits the run. Bytes that are written may be any variable's as far as the compiler knows, so that all that the
  /// loop reads is held in locals.
  template <class Character, class Ids>
  void encode(const Character* from, std::size_t length, Ids ids) {
    Id* const to = run_.data() + filled_;
    std::int32_t all = 0;  // negative as soon as one is
    for (std::size_t i = 0; i < length; ++i) {
      const std::int32_t id = ids[code_point_of(from[i])];
      all |= id;
      to[i] = static_cast<Id>(id);
    }
    if (all < 0) refuse_changed(sources_);
    filled_ += length;
  }

  void flush() {
    count_ += static_cast<std::int64_t>(filled_);
    if (count_ > survey_.tokens) refuse_changed(sources_);
    sink_(std::as_bytes(std::span(run_).first(filled_)));
    filled_ = 0;
  }

  const std::vector<TextSource>& sources_;
  const Survey& survey_;
  const IdSink& sink_;
  SymbolIndex index_;
  std::vector<Id> run_;
  std::size_t filled_ = 0;
  std::int64_t count_ = 0;
};

template <class Id>
void encode_as(const std::vector<TextSource>& sources, const Survey& survey, const IdSink& sink) {
  Encoder<Id> encoder(sources, survey, sink);
  for (const TextSource& source : sources) read_symbols(source, survey.vocabulary.units(), encoder);
  encoder.finish();
}

void encode_texts(const std::vector<TextSource>& sources, const Survey& survey, int width, const IdSink& sink) {
  if (width == 1) return encode_as<std::uint8_t>(sources, survey, sink);
  if (width == 2) return encode_as<std::uint16_t>(sources, survey, sink);
  encode_as<std::uint32_t>(sources, survey, sink);
}

std::vector<std::string> notices_of(const std::vector<TextSource>& sources, Units units) {
  std::vector<std::string> marked, notices, others;
  for (const TextSource& source : sources) {
    if (source.has_byte_order_mark()) marked.push_back(source.name());
    if (units != Units::bytes) continue;
    if (const auto kind = kind_of(source)) others.push_back(source.name() + " is " + std::string(kind->name));
  }
  if (!marked.empty()) notices.push_back(some_of(marked) + ": byte order mark removed");
  if (!others.empty()) notices.push_back(some_of(others) + ": the model learns its bytes as they are");
  return notices;
}

[[noreturn]] void refuse_empty(const std::vector<TextSource>& sources) {
  std::vector<std::string> names;
  for (const TextSource& source : sources) names.push_back(source.name());
  throw Error(ExitCode::data, some_of(names) + (sources.size() == 1 ? " is empty" : " are empty") +
                                  "; a text needs characters to learn from");
}

Survey survey_some(const std::vector<TextSource>& sources, const DataConfig& data,
                   const std::optional<Vocabulary>& vocabulary) {
  Survey survey = survey_texts(sources, data, vocabulary);
  if (survey.tokens == 0) refuse_empty(sources);
  return survey;
}

/// What was surveyed, encoded into memory.
Corpus corpus_in_memory(const std::vector<TextSource>& sources, Survey survey, const DataConfig& data,
                        std::vector<std::string> notices = {}) {
  const int width = narrowest_width(survey.vocabulary.size());
  const auto ids = std::make_shared<std::vector<std::byte>>();
  ids->reserve(static_cast<std::size_t>(survey.tokens) * static_cast<std::size_t>(width));
  encode_texts(sources, survey, width,
               [&ids](std::span<const std::byte> run) { ids->insert(ids->end(), run.begin(), run.end()); });
  const TokenView tokens(ids->data(), width, survey.tokens);
  for (std::string& notice : notices_of(sources, survey.vocabulary.units())) notices.push_back(std::move(notice));
  return Corpus(std::move(survey.vocabulary), tokens, ids, holdout_of(data), std::move(notices));
}

/// None if the cache has nothing usable.
std::optional<Corpus> corpus_from_cache(const IdCache& cache, const std::vector<TextSource>& sources,
                                        const Holdout& holdout) {
  auto content = cache.open();
  if (!content) return std::nullopt;
  auto notices = notices_of(sources, content->vocabulary.units());
  Corpus corpus(std::move(content->vocabulary), content->tokens, content->owner, holdout, std::move(notices));
  if (corpus.fingerprint().crc64 != content->crc64) return std::nullopt;
  return corpus;
}

/// Without a place to keep the ids, in memory: the next start takes as long as this one.
Corpus corpus_through_cache(const IdCache& cache, const std::vector<TextSource>& sources, const DataConfig& data,
                            const std::optional<Vocabulary>& vocabulary) {
  if (auto corpus = corpus_from_cache(cache, sources, holdout_of(data))) return *std::move(corpus);
  Survey survey = survey_some(sources, data, vocabulary);
  const int width = narrowest_width(survey.vocabulary.size());
  std::string problem = printable_path(cache.path()) + " does not read back as it was written";
  try {
    cache.write(survey.vocabulary, width, survey.tokens,
                [&](const IdSink& sink) { encode_texts(sources, survey, width, sink); });
    if (auto corpus = corpus_from_cache(cache, sources, holdout_of(data))) return *std::move(corpus);
  } catch (const Error& error) {
    if (error.code() != ExitCode::io) throw;
    problem = error.what();
  }
  return corpus_in_memory(sources, std::move(survey), data, {problem + "; the next start reads the text again"});
}

/// The file for the ids of these texts in this vocabulary; its key changes with the texts' state. A given vocabulary
/// belongs to a run, and a run has one text, whatever its name: one file, still good once the text is renamed.
IdCache cache_of(const TextFiles& files, const std::filesystem::path& folder, const DataConfig& data,
                 const std::optional<Vocabulary>& vocabulary) {
  std::uint64_t name = crc64(std::string(enum_name(vocabulary ? vocabulary->units() : data.units)));
  name = vocabulary ? crc64(std::as_bytes(std::span(vocabulary->code_points())), name) : crc64(files.identity(), name);
  char file_name[32];
  std::snprintf(file_name, sizeof file_name, "ids-%016llx.bin", static_cast<unsigned long long>(name));
  return IdCache(folder / file_name, crc64(files.state() + std::to_string(data.max_symbols), name));
}

/// Each file is read twice: surveyed, then encoded.
void watch(std::vector<TextSource>& sources, std::uint64_t bytes, const ReadingProgress& progress) {
  const auto done = std::make_shared<std::uint64_t>(0);
  const auto note = [done, of = 2 * bytes, progress](std::uint64_t count) {
    *done = std::min(*done + count, of);
    progress(*done, of);
  };
  for (TextSource& source : sources) source.watch(note);
}

std::string lengths(const Corpus& corpus) {
  return "the text has " + std::to_string(corpus.all().size()) + " tokens, " + std::to_string(corpus.train().size()) +
         " to train on and " + std::to_string(corpus.val().size()) + " to validate on";
}

bool both_hold(std::int64_t needed, std::int64_t tokens, double val_fraction) {
  const std::int64_t train = train_size(tokens, val_fraction);
  return train >= needed && tokens - train >= needed;
}

/// The length from which both splits hold `needed` tokens; none if no length would do.
std::optional<std::int64_t> sufficient_length(std::int64_t needed, double val_fraction) {
  std::int64_t too_short = 0, enough = std::int64_t{1} << 50;
  if (!both_hold(needed, enough, val_fraction)) return std::nullopt;
  while (enough - too_short > 1) {
    const std::int64_t middle = (too_short + enough) / 2;
    (both_hold(needed, middle, val_fraction) ? enough : too_short) = middle;
  }
  return enough;
}

/// The smallest val_fraction, in hundredths, that gives both splits `needed` of `tokens` tokens, if there is one.
std::optional<std::string> sufficient_val_fraction(std::int64_t needed, std::int64_t tokens) {
  for (int hundredths = 1; hundredths <= 90; ++hundredths)
    if (both_hold(needed, tokens, hundredths / 100.0)) {
      char text[16];
      std::snprintf(text, sizeof text, "%.2f", hundredths / 100.0);
      return text;
    }
  return std::nullopt;
}

/// The ways out, most useful last: another text, other windows, another split.
std::string what_would_do(const Corpus& corpus, std::int64_t needed) {
  std::vector<std::string> choices;
  if (const auto length = sufficient_length(needed, corpus.holdout().fraction))
    choices.push_back("use a text of at least " + std::to_string(*length) + " tokens");
  const std::int64_t shortest = std::min(corpus.train().size(), corpus.val().size());
  const std::int64_t half = corpus.all().size() / 2;
  if (shortest >= 2) {
    choices.push_back("set model.block_size to " + std::to_string(shortest - 1) + " or less");
  } else if (half >= 2) {
    choices.push_back("set data.val_fraction to 0.5 and model.block_size to " + std::to_string(half - 1) + " or less");
  }
  if (const auto fraction = sufficient_val_fraction(needed, corpus.all().size()))
    choices.push_back("set data.val_fraction to " + *fraction);
  if (choices.empty()) return "use a longer text";
  return joined(choices, ", or ");
}

}  // namespace

Corpus::Corpus(Vocabulary vocabulary, TokenView tokens, std::shared_ptr<const void> owner, const Holdout& holdout,
               std::vector<std::string> notices, std::shared_ptr<const TextListing> listing)
    : vocabulary_(std::move(vocabulary)),
      tokens_(tokens),
      owner_(std::move(owner)),
      holdout_(holdout),
      train_size_(train_size(tokens.size(), holdout.fraction)),
      fingerprint_(fingerprint_of(tokens)),
      notices_(std::move(notices)),
      listing_(listing ? std::move(listing) : std::make_shared<const TextListing>()) {
  const std::int64_t held_out = tokens_.size() - train_size_;
  if (held_out > holdout_.most)
    notices_.push_back("validation scores the first " + std::to_string(holdout_.most) + " of the " +
                       std::to_string(held_out) + " tokens held out (data.max_val_tokens)");
}

std::int64_t Corpus::files() const {
  return listing_->files();
}

Corpus Corpus::read_from(TextListing listing) && {
  notices_.insert(notices_.begin(), listing.notices.begin(), listing.notices.end());
  listing_ = std::make_shared<const TextListing>(std::move(listing));
  return std::move(*this);
}

namespace {

Corpus load_files(const TextFiles& files, const DataConfig& data, const std::filesystem::path& cache_folder,
                  const std::optional<Vocabulary>& vocabulary, std::uint64_t memory_limit,
                  const ReadingProgress& progress) {
  const auto in_memory = [&](const std::vector<TextSource>& sources) {
    return corpus_in_memory(sources, survey_some(sources, data, vocabulary), data);
  };
  if (files.within(memory_limit)) return in_memory(files.in_memory(progress));
  std::vector<TextSource> sources = files.streamed(progress);
  if (progress) watch(sources, files.bytes(), progress);
  if (cache_folder.empty() || !files.regular()) return in_memory(sources);
  if (vocabulary) {  // what a run's first start has kept, before it had one
    auto corpus = corpus_from_cache(cache_of(files, cache_folder, data, std::nullopt), sources, holdout_of(data));
    if (corpus && corpus->vocabulary() == *vocabulary) return *std::move(corpus);
  }
  return corpus_through_cache(cache_of(files, cache_folder, data, vocabulary), sources, data, vocabulary);
}

}  // namespace

Corpus load_listed(TextListing listing, const DataConfig& data, const std::filesystem::path& cache_folder,
                   const std::optional<Vocabulary>& vocabulary, std::uint64_t memory_limit,
                   const ReadingProgress& progress) {
  const TextFiles files(listing);
  return load_files(files, data, cache_folder, vocabulary, memory_limit, progress).read_from(std::move(listing));
}

Corpus load_corpus(const DataConfig& data, const std::filesystem::path& cache_folder,
                   const std::optional<Vocabulary>& vocabulary, std::uint64_t memory_limit,
                   const ReadingProgress& progress) {
  return load_listed(list_texts(data.text, vocabulary ? vocabulary->units() : data.units), data, cache_folder,
                     vocabulary, memory_limit, progress);
}

void check_splits(const Corpus& corpus, std::int64_t block_size) {
  const std::int64_t needed = block_size + 1;
  if (corpus.train().size() >= needed && corpus.val().size() >= needed) return;
  throw Error(ExitCode::data, lengths(corpus) + ", but each needs at least model.block_size + 1 = " +
                                  std::to_string(needed) + ": " + what_would_do(corpus, needed));
}

Corpus corpus_from_text(std::string_view utf8, const DataConfig& data, const std::string& source,
                        const std::optional<Vocabulary>& vocabulary) {
  const std::vector sources = {TextSource::in_memory(source, std::string(utf8))};
  return corpus_in_memory(sources, survey_some(sources, data, vocabulary), data);
}

Corpus in_vocabulary(const Corpus& corpus, const Vocabulary& vocabulary, UnknownPolicy policy, const std::string& what,
                     std::string& notice) {
  const std::vector<char32_t>& characters = corpus.vocabulary().code_points();
  std::vector<std::int64_t> ids;  // ours by theirs
  for (const char32_t character : characters) ids.push_back(vocabulary.id_of(character));
  const std::int64_t replacement = policy == UnknownPolicy::replace ? vocabulary.replacement() : -1;
  const int width = narrowest_width(vocabulary.size());
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  UnknownCharacters unknown;
  const TokenView all = corpus.all();
  for (std::int64_t i = 0; i < all.size(); ++i) {
    const auto theirs = static_cast<std::size_t>(all[i]);
    if (ids[theirs] < 0) unknown.note(characters[theirs], i);
    const std::int64_t id = ids[theirs] < 0 ? replacement : ids[theirs];
    for (int byte = 0; id >= 0 && byte < width; ++byte) bytes->push_back(static_cast<std::byte>(id >> 8 * byte));
  }
  if (!unknown.empty() && policy == UnknownPolicy::error)
    throw Error(ExitCode::data, unknown.message(what, "leave them out, or --unknown skip"));
  notice = unknown.empty() ? "" : unknown.message(what, outcome_of(policy, vocabulary));
  if (bytes->empty()) throw Error(ExitCode::data, what + " has no character that the model knows");
  const TokenView tokens(bytes->data(), width, std::ssize(*bytes) / width);
  return {vocabulary,       tokens,           bytes,
          corpus.holdout(), corpus.notices(), std::make_shared<const TextListing>(corpus.listing())};
}

}  // namespace chargpt
