#include "exchange/huggingface.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>
#include <system_error>

#include "base/embedded.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "config/describe.h"
#include "exchange/architecture.h"
#include "exchange/character_tokenizer.h"
#include "exchange/layout.h"
#include "network/model_types.h"
#include "report/format.h"
#include "report/table.h"
#include "run/checkpoints.h"
#include "run/run_folder.h"
#include "run/strict_json.h"
#include "text/documents.h"

namespace chargpt {
namespace {

// ---- the files

/// The id between documents begins and ends a text; there is no padding.
void put_special_tokens(const ExportedModel& model, Json& json) {
  const std::int64_t document = model.vocabulary().document();
  json["bos_token_id"] = json["eos_token_id"] = document < 0 ? Json() : Json(document);
  json["pad_token_id"] = nullptr;
}

Json config_json(const ExportedModel& model) {
  const Architecture architecture = architecture_of(model.options());
  Json json = to_theirs(model.options(), architecture);
  json["architectures"] = {foreign_model(architecture).class_name};
  json["model_type"] = enum_name(architecture);
  if (architecture == Architecture::chargpt)
    json["auto_map"] = {{"AutoConfig", "modeling_chargpt.ChargptConfig"},
                        {"AutoModelForCausalLM", "modeling_chargpt.ChargptForCausalLM"}};
  json["vocab_size"] = model.vocabulary().size();
  const DataConfig& data = model.config().data;
  if (has_documents(data)) json.update({{"documents", enum_name(data.documents)}, {"separator", data.separator}});
  json["initializer_range"] = model.options().init_std;
  put_special_tokens(model, json);
  json["use_cache"] = true;
  json["torch_dtype"] = json["dtype"] = "float32";
  return json;
}

/// The run's sampling options; top_k 0 means all symbols there too.
Json generation_json(const ExportedModel& model) {
  const SampleConfig& sample = model.config().sample;
  Json json = {{"do_sample", sample.temperature > 0}, {"use_cache", true}};
  if (sample.temperature > 0) {
    json["temperature"] = sample.temperature;
    json["top_k"] = sample.top_k;
    json["top_p"] = sample.top_p;
    if (sample.min_p > 0) json["min_p"] = sample.min_p;
  }
  put_special_tokens(model, json);
  return json;
}

Json tokenizer_config_json(const ExportedModel& model) {
  Json json = {{"tokenizer_class", "PreTrainedTokenizerFast"},
               {"clean_up_tokenization_spaces", false},
               {"model_max_length", model.options().block_size}};
  if (model.vocabulary().document() >= 0)  // a text with the token's name is split into characters
    json.update({{"bos_token", document_token}, {"eos_token", document_token}, {"split_special_tokens", true}});
  return json;
}

// ---- README.md

std::string unit_of(const ExportedModel& model) {
  return model.vocabulary().units() == Units::bytes ? "byte" : "character";
}

void add_loss(Table& table, const std::string& name, const Json& loss) {
  if (loss.is_number() && std::isfinite(loss.get<double>()))
    table.add({name, format_fixed(loss, 4), format_fixed(loss.get<double>() / std::numbers::ln2, 3)});
}

/// Losses of the model and its baselines: "| this model | 1.4949 | 2.157 |"; empty if none was measured.
std::string losses(const ExportedModel& model) {
  const Weights weights = model.model.weights();
  const Json figures = kept_figures(model.checkpoint);  // of the better weights
  const bool measured = figures.is_object() && weights == chosen_weights(model.checkpoint, Weights::better);
  Table table({"validation split", "nats per " + unit_of(model), "bits"});
  const double evaluated = weights == Weights::averaged ? model.state().averaged_val_loss : model.state().val_loss;
  if (!measured && !(model.state().exact && std::isfinite(evaluated))) return "";
  add_loss(table, "this model", measured ? figures.value("loss", Json()) : Json(evaluated));
  const Json baselines = figures.is_object() ? figures.value("baselines", Json()) : Json();
  for (const auto& [name, rival] : baselines.items()) {
    const bool several = rival.is_object();  // the best one is shown
    const std::string order = several && rival.contains("order") ? " (order " + rival["order"].dump() + ")" : "";
    if (!name.ends_with("_tokens")) add_loss(table, name + order, several ? rival.value("loss", Json()) : rival);
  }
  std::string text = table.markdown();
  if (figures.is_object() && figures.value("part_in_training_text", Json()).is_number())
    text += "\nOf the validation split, " + format_fixed(100 * figures["part_in_training_text"].get<double>(), 1) +
            " % also occurs in the training text.\n";
  if (const std::string line = kept_caution(model.checkpoint.path); !line.empty()) text += "\nCaution: " + line + ".\n";
  return text;
}

/// Names the texts without their folders, which are private.
std::string training(const ExportedModel& model) {
  return "## Training\n\n`" + printable(joined(names_of_paths(model.config().data.text), "`, `"), SIZE_MAX) + "`, " +
         format_count(model.state().data.tokens, unit_of(model)) + " (CRC-64 of the ids " +
         json_hex(model.state().data.crc64) + "), " + format_count(model.state().step, "step") + ".\n";
}

std::string use(const ExportedModel& model) {
  const bool own_code = architecture_of(model.options()) == Architecture::chargpt;
  const bool placed = model.options().position == Position::learned;
  const std::string from_folder =
      own_code ? ".from_pretrained(FOLDER, trust_remote_code=True)\n" : ".from_pretrained(FOLDER)\n";
  return "## Use\n\n```python\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n\ntokenizer = "
         "AutoTokenizer" +
         from_folder + "model = AutoModelForCausalLM" + from_folder +
         "ids = tokenizer(PROMPT, return_tensors=\"pt\")\n"
         "print(tokenizer.decode(model.generate(**ids, " +
         (placed ? line_of("max_length=", model.options().block_size) : "max_new_tokens=100") + ")[0]))\n```\n\n" +
         (own_code ? "The model's code is `modeling_chargpt.py` of this folder.\n" : "") +
         "The tokenizer raises an error for a character outside the vocabulary.\n" +
         (model.vocabulary().document() >= 0
              ? line_of("`", document_token, "` begins and ends each text; the tokenizer puts it before a prompt.\n")
              : "") +
         (placed ? "Prompt and continuation together must fit into its context: it has no positions beyond.\n"
                 : "Beyond its context it continues with positions that it was never trained on.\n");
}

/// A Hugging Face model card: the model, its training text, its loss beside counting and compression baselines (from
/// the run's final figures, if they are of this checkpoint). Contains no local paths.
std::string model_card(const ExportedModel& model) {
  return "---\nlicense: " + printable(model.license) +
         "\nlibrary_name: transformers\npipeline_tag: text-generation\n---\n\n# " + printable(model.config().name) +
         "\n\nA language model that reads and writes one " + unit_of(model) +
         " at a time, written by chargpt: " + format_count(model.state().parameters, "parameter") + ", " +
         format_count(model.vocabulary().size(), "symbol") + ", a context of " +
         format_count(model.options().block_size) + ".\n\n" + losses(model) + "\n" +
         (model.state().data != Fingerprint{} ? training(model) + "\n" : "") + use(model);
}

}  // namespace

ExportedFolder as_huggingface(const ExportedModel& model) {
  if (const auto obstacle = obstacle_to(model.options(), Architecture::chargpt))
    throw Error(ExitCode::usage, *obstacle);
  const Architecture architecture = architecture_of(model.options());
  const ModelConfig theirs = as_theirs(model.options(), architecture);
  const std::vector<OwnTensor> tensors =
      tensors_as_theirs(model.model, rows_in_transformers(theirs, architecture, model.vocabulary().size()));
  ExportedFolder folder{.files = {{"config.json", json_text(config_json(model))},
                                  {"generation_config.json", json_text(generation_json(model))},
                                  {"tokenizer.json", json_text(tokenizer_json(model.vocabulary()))},
                                  {"tokenizer_config.json", json_text(tokenizer_config_json(model))},
                                  {"model.safetensors", safetensors_bytes(reference_order(views_of(tensors)))},
                                  {"README.md", model_card(model)}},
                        .notices = {}};
  if (architecture != Architecture::chargpt) return folder;
  folder.files.push_back(
      {"modeling_chargpt.py", std::string(embedded_file("src/exchange/transformers/modeling_chargpt.py"))});
  folder.notices.emplace_back(
      "transformers has no class for this model: the folder contains one, modeling_chargpt.py; load it with "
      "trust_remote_code=True");
  return folder;
}

// A broken symbolic link also counts as existing.
void refuse_existing(const fs::path& path) {
  if (type_at(path) != fs::file_type::not_found)
    throw Error(ExitCode::busy, path, " already exists; choose another path or remove it");
}

void write_folder(const fs::path& path, const std::vector<ExportedFile>& files) {
  const fs::path out = without_final_slash(path), partial = out.native() + ".partial";
  refuse_existing(out);
  refuse_existing(partial);
  std::error_code failed, ignored;
  fs::create_directories(partial, failed);
  if (failed) fail_on("make the folder", partial, failed.value());
  try {
    for (const ExportedFile& file : files) write_file_atomically(partial / file.name, file.bytes);
    refuse_existing(out);
    fs::rename(partial, out, failed);
    if (failed) fail_on("write", out, failed.value());
    fsync_path(folder_of(out));
  } catch (...) {
    fs::remove_all(partial, ignored);
    throw;
  }
}

}  // namespace chargpt
