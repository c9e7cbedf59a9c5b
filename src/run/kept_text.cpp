#include "run/kept_text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "config/describe.h"
#include "config/load.h"
#include "report/format.h"
#include "run/run_files.h"
#include "run/safetensors.h"
#include "run/strict_json.h"
#include "text/documents.h"

namespace chargpt {
namespace {

constexpr const char* place_fact = "text";  ///< of run.json

// ---- RUN/text.safetensors

std::map<std::string, std::string> metadata_of(const Corpus& corpus) {
  const auto [train, val, test] = corpus.parts().splits;
  Json texts = Json::array();
  for (const TextFile& file : corpus.listing().files)
    texts.push_back({{"name", printable_path(file.path)}, {"bytes", file.bytes}, {"crc64", json_hex(file.crc64)}});
  const Json splits = {
      {"train", {train.begin, train.end}}, {"val", {val.begin, val.end}}, {"test", {test.begin, test.end}}};
  const auto text = [](const Json& json) { return json_text(json, -1, ""); };
  return {{"vocabulary", text(corpus.vocabulary().to_json())}, {"texts", text(texts)}, {"splits", text(splits)}};
}

Splits splits_in(const StrictObject& object, std::int64_t tokens) {
  std::int64_t least = 0;
  const auto range = [&](const char* name) {
    const std::vector<std::int64_t> ends = object.sizes(name, 2, 2);
    if (ends[0] < least || ends[1] < ends[0] || ends[1] > tokens)
      object.refuse(name, "a range of the text, after the one before it");
    least = std::max<std::int64_t>(0, ends[1] - 1);  // neighbours share the id between documents
    return IdRange{ends[0], ends[1]};
  };
  const IdRange train = range("train"), val = range("val");
  return {.train = train, .val = val, .test = range("test")};
}

TextListing listing_in(const nlohmann::json& texts, const std::string& source) {
  TextListing listing;
  for (const nlohmann::json& text : texts) {
    const StrictObject object(text, source);
    listing.files.push_back({.path = object.text("name"),
                             .bytes = static_cast<std::uint64_t>(object.integer("bytes", 0)),
                             .crc64 = object.hex("crc64")});
  }
  return listing;
}

/// The ids in the file. Error data unless the vocabulary contains all of them.
TokenView tokens_in(const SafetensorsFile& file, const Vocabulary& vocabulary) {
  const TensorView* const ids = find_tensor(file.tensors, "ids");
  const int width = ids == nullptr ? 0 : ids->dtype == "U8" ? 1 : ids->dtype == "U16" ? 2 : ids->dtype == "U32" ? 4 : 0;
  if (width == 0 || ids->shape.size() != 1 || ids->shape[0] < 1)
    throw Error(ExitCode::data, file.source, " has no tensor ids of U8, U16 or U32 in one dimension");
  if (reinterpret_cast<std::uintptr_t>(ids->bytes.data()) % static_cast<std::uintptr_t>(width) != 0)
    throw Error(ExitCode::data, file.source, ": its ids do not begin at a multiple of their size");
  const TokenView tokens(ids->bytes.data(), width, ids->shape[0],
                         vocabulary.document() >= 0 ? vocabulary.document() : TokenView::no_document);
  std::int64_t largest = 0;
  tokens.each_run([&](std::span<const std::int64_t> run) { largest = std::max(largest, std::ranges::max(run)); });
  if (largest >= vocabulary.size())
    throw Error(ExitCode::data, file.source, ": id ", largest, " is not one of the ", vocabulary.size(), " symbols");
  return tokens;
}

/// Whether the file has this header, and bytes that match the checksums in it. False if it cannot be read.
bool is_whole(const fs::path& path, const std::string& header) try {
  if (type_at(path) != fs::file_type::regular || read_stretch(path, 0, header.size()).bytes != header) return false;
  check_own(read_safetensors(path, FilePart::all, Links::refuse));
  return true;
} catch (const std::exception&) {  // std::bad_alloc, too: a copy needs no second text in memory
  return false;
}

/// Links to another run's file in the same folder. Returns false if there is none, or the file system has no hard
/// links.
bool is_linked(const fs::path& run, const std::string& header) {
  std::error_code failed;
  for (const std::string& name : entries_of(run.parent_path())) {
    const fs::path other = run.parent_path() / name / kept_text_name;
    if (other == run / kept_text_name || !is_whole(other, header)) continue;
    fs::remove(run / kept_text_name, failed);
    fs::create_hard_link(other, run / kept_text_name, failed);
    return !failed;
  }
  return false;
}

// ---- where the files are

/// Stores the text's size and digest in run.json, and the paths of its files. Paths are valid on this machine only, so
/// no other file of a run has them.
void keep_place(const fs::path& run, const Corpus& corpus) {
  const TextListing& listing = corpus.listing();
  Strings paths;  // none if the text cannot be read again, or JSON cannot represent a path
  std::error_code failed;
  for (const fs::path name : listing.names)
    paths.push_back(name == sample_text_name ? name.native() : fs::absolute(name, failed).native());
  if (!listing.repeatable() || !std::ranges::all_of(paths, is_utf8)) paths.clear();
  const Json place = {{"names", paths},
                      {"bytes", listing.bytes()},
                      {"tokens", corpus.fingerprint().tokens},
                      {"crc64", json_hex(corpus.fingerprint().crc64)}};
  const Json before = run_fact(run, place_fact);
  if (!listing.names.empty() && before != place && (before.is_null() || !paths.empty()))
    keep_run_fact(run, place_fact, place);
}

/// The paths in RUN/run.json, relative if they are below the working folder; empty if there are none, or run.json is
/// damaged.
Strings last_place(const fs::path& run) {
  try {
    Strings names = run_fact(run, place_fact).at("names").get<Strings>();
    for (std::string& name : names)
      if (const fs::path here = fs::path(name).lexically_proximate(fs::current_path());
          !here.empty() && *here.begin() != "..")
        name = here.native();
    return names;
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

constexpr const char* how_to_say_where = "say where it is with --text FILE to resume, and the run keeps it";

}  // namespace

std::string keep_text(const fs::path& run, const Corpus& corpus, Keep keep) {
  keep_place(run, corpus);
  const TokenView ids = corpus.all();
  if (ids.bytes().size() > most_kept_bytes)
    return corpus.listing().repeatable()
               ? ""
               : "the text cannot be read again, and a run keeps at most " + std::to_string(most_kept_bytes >> 30) +
                     " GB of ids: resume, eval and the like will need it as a file, with --text FILE";
  std::vector<std::int64_t> ends;  // positions of the ids that end documents
  if (corpus.is_divided()) each_document(ids, [&](std::int64_t /*begin*/, std::int64_t end) { ends.push_back(end); });
  std::vector<TensorView> tensors;
  if (!ends.empty()) tensors.push_back({"documents", "I64", {std::ssize(ends)}, std::as_bytes(std::span(ends))});
  tensors.push_back({"ids", ids.width() == 1 ? "U8" : ids.width() == 2 ? "U16" : "U32", {ids.size()}, ids.bytes()});
  const std::string header = checked_header(tensors, metadata_of(corpus));
  const fs::path path = run / kept_text_name;
  if (keep == Keep::shared && is_linked(run, header)) return "";
  write_file_atomically(path, [&](const ByteSink& sink) { write_safetensors(sink, header, tensors); });
  return "";
}

std::optional<Corpus> kept_text(const fs::path& run, const DataConfig& data) {
  const fs::path path = run / kept_text_name;
  if (type_at(path) == fs::file_type::not_found) return std::nullopt;
  const SafetensorsFile file = read_safetensors(path, FilePart::all, Links::refuse);
  check_own(file);
  CorpusParts parts{.vocabulary = Vocabulary::from_json(own_json(file, "vocabulary"), file.source + ": vocabulary")};
  parts.tokens = tokens_in(file, parts.vocabulary);
  parts.owner = file.owner;
  parts.listing = listing_in(own_json(file, "texts"), file.source + ": texts");
  if (parts.vocabulary.document() < 0) {
    parts.splits = splits_by_position(parts.tokens.size(), data);
    return Corpus(std::move(parts), data);
  }
  const nlohmann::json splits = own_json(file, "splits");
  parts.splits = splits_in(StrictObject(splits, file.source + ": splits"), parts.tokens.size());
  return Corpus(std::move(parts), data);
}

FoundText find_text(const KnownText& known, bool named, const Heartbeat& heartbeat) {
  std::string damage;
  if (!named) try {
      if (auto kept = kept_text(known.run, known.data)) {
        const bool is_it = known.fingerprint == Fingerprint{} || kept->fingerprint() == known.fingerprint;
        if (is_it && kept->vocabulary() == known.vocabulary) return {*std::move(kept), ""};
        damage = printable_path(known.run / kept_text_name) + " is not the text of this run";
      }
    } catch (const Error& error) {
      if (error.code() != ExitCode::data) throw;
      damage = error.what();
    }
  const Strings names = named ? known.data.text : last_place(known.run);
  const std::string begin = damage.empty() ? "" : damage + "; ";
  if (names.empty())
    throw Error(ExitCode::missing, begin, "the text of ", known.run, " is not kept in it; ",
                known.fingerprint == Fingerprint{} ? "import it again with --text FILE" : how_to_say_where);
  DataConfig data = known.data;
  data.text = names;
  std::string why;
  try {
    Corpus corpus = load_corpus(data, known.vocabulary, heartbeat);
    if (known.fingerprint == Fingerprint{} ? named : corpus.fingerprint() == known.fingerprint)
      return {std::move(corpus), damage};
    why = "(" + difference_of(known.fingerprint, corpus.fingerprint()) + ")";
  } catch (const Error& error) {
    if (error.code() == ExitCode::missing && !named)
      throw Error(error.code(), begin, "the text of ", known.run, " is not where it was: ", error.what(), "; ",
                  how_to_say_where);
    if (error.code() != ExitCode::data) throw;
    why = line_of("(", error.what(), ")");
  }
  throw Error(ExitCode::data, "the text is not the one that ", known.run, " was trained on ", why, "; ",
              how_to_say_where, "; or train a new run on this text, with --init_from");
}

std::string difference_of(const Fingerprint& then, const Fingerprint& now) {
  if (then.tokens == now.tokens) return "as long, but with other characters";
  return std::to_string(then.tokens) + " tokens then, " + std::to_string(now.tokens) + " now";
}

std::string text_difference(const KnownText& one, const KnownText& other) {
  Config then, now;
  then.data = one.data;
  now.data = other.data;
  for (Config* config : {&then, &now})  // a checkpoint has only the names
    config->data.text = names_of_paths(config->data.text);
  std::vector<std::string> harmless = {"data.max_val_tokens"};  // it only limits how much is scored
  const bool is_same = one.fingerprint == other.fingerprint && one.vocabulary == other.vocabulary;
  if (is_same) harmless.insert(harmless.end(), {"data.text", "data.max_symbols"});
  const std::vector<std::string> lines = changed_options(then, now, "data", harmless);
  if (!lines.empty()) return lines.front();
  return is_same ? "" : difference_of(one.fingerprint, other.fingerprint);
}

}  // namespace chargpt
