#include "exchange/model_card.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/error.h"
#include "base/quote.h"
#include "checkpoint/strict_json.h"
#include "exchange/architecture.h"
#include "exchange/character_tokenizer.h"
#include "report/format.h"
#include "report/table.h"
#include "run/kept_files.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;

std::string unit_of(const ExportedModel& model) {
  return model.vocabulary().units() == Units::bytes ? "byte" : "character";
}

bool knows_its_text(const ExportedModel& model) {
  return model.state().data != Fingerprint{};
}

void add_loss(Table& table, const std::string& name, const Json& loss) {
  if (loss.is_number())
    table.add({name, format_fixed(loss, 4), format_fixed(loss.get<double>() / std::numbers::ln2, 3)});
}

/// The model's loss and its rivals': "| this model | 1.4949 | 2.157 |".
std::string losses(const ExportedModel& model) {
  const bool averaged = model.model.weights() == Weights::averaged;
  const Json figures = kept_figures(model.checkpoint);
  Table table({"validation split", "nats per " + unit_of(model), "bits"});
  const double evaluated = averaged ? model.state().averaged_val_loss : model.state().val_loss;
  add_loss(table, "this model", figures.is_object() ? figures.value("loss", Json()) : Json(evaluated));
  const Json baselines = figures.is_object() ? figures.value("baselines", Json()) : Json();
  for (const auto& [name, rival] : baselines.items()) {
    const bool several = rival.is_object();  // of which the best is told
    const std::string order = several && rival.contains("order") ? " (order " + rival["order"].dump() + ")" : "";
    if (!name.ends_with("_tokens")) add_loss(table, name + order, several ? rival.value("loss", Json()) : rival);
  }
  std::string text = table.markdown();
  if (figures.is_object() && figures.value("part_in_training_text", Json()).is_number())
    text += "\nOf the validation split, " + format_fixed(100 * figures["part_in_training_text"].get<double>(), 1) +
            " % also stands in the training text.\n";
  return text;
}

/// The name of the file alone: folders are private.
std::string file_name(const std::string& path) {
  return printable(std::filesystem::path(path).filename().string());
}

std::string training(const ExportedModel& model) {
  std::string names, options;
  for (const std::string& text : model.config().data.text) {
    names += (names.empty() ? "`" : ", `") + file_name(text) + "`";
    options += " " + shell_quoted(file_name(text));
  }
  return "## Training\n\n" + names + ", " + format_count(model.state().data.tokens, unit_of(model)) +
         " (CRC-64 of the ids " + json_hex(model.state().data.crc64) + "), " +
         format_count(model.state().step, "step") + " of " + model.state().program_version +
         ". The same again, with every option in `chargpt.json`:\n\n```sh\n" + "chargpt train chargpt.json --text" +
         options + "\n```\n";
}

std::string use(const ExportedModel& model) {
  const bool own_code = architecture_of(model.options()) == Architecture::chargpt;
  const std::string from_folder =
      own_code ? ".from_pretrained(FOLDER, trust_remote_code=True)\n" : ".from_pretrained(FOLDER)\n";
  return "## Use\n\n```python\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n\ntokenizer = "
         "AutoTokenizer" +
         from_folder + "model = AutoModelForCausalLM" + from_folder +
         "ids = tokenizer(PROMPT, return_tensors=\"pt\")\n"
         "print(tokenizer.decode(model.generate(**ids, max_new_tokens=100)[0]))\n```\n\n" +
         (own_code ? "The model's code is `modeling_chargpt.py` of this folder.\n" : "") +
         "A character that is not among its symbols is an error of the tokenizer.\n" +
         (model.vocabulary().document() >= 0
              ? line_of("`", document_token, "` begins and ends each text; the tokenizer puts it before a prompt.\n")
              : "") +
         (model.options().position == Position::learned
              ? "Prompt and continuation together fit its context: it has no positions beyond.\n"
              : "Beyond its context it goes on with positions that it was never trained on.\n");
}

}  // namespace

std::string model_card(const ExportedModel& model) {
  return "---\nlicense: " + printable(model.license) +
         "\nlibrary_name: transformers\npipeline_tag: text-generation\n---\n\n# " + printable(model.config().name) +
         "\n\nA language model that reads and writes one " + unit_of(model) +
         " at a time, trained by chargpt: " + format_count(model.state().parameters, "parameter") + ", " +
         format_count(model.vocabulary().size(), "symbol") + ", a context of " +
         format_count(model.options().block_size) + ".\n\n" + losses(model) + "\n" +
         (knows_its_text(model) ? training(model) + "\n" : "") + use(model);
}

Json config_to_train(const ExportedModel& model) {
  ResolvedConfig config = model.checkpoint.config;
  for (std::string& text : config.config.data.text) text = file_name(text);
  for (auto& [option, origin] : config.origin) origin = file_name(origin);
  return to_json(config);
}

}  // namespace chargpt
