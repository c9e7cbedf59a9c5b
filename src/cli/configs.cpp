// `chargpt configs`: the presets, and the schema of a config file.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "config/load.h"
#include "model/registry.h"
#include "report/table.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  bool schema = false;
  std::string show;
};

nlohmann::ordered_json schema_with_model_types() {
  nlohmann::ordered_json schema = config_schema();
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (const ModelType& type : model_types()) types.push_back(type.name);
  schema["properties"]["model"]["properties"]["type"]["enum"] = types;
  return schema;
}

void list_presets(bool json) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Preset& preset : presets()) {
    const Config config = load_config(preset.name).config;
    const auto parameters = make_model(config.model, 65, 0)->parameter_count();
    rows.push_back({{"name", preset.name},
                    {"type", config.model.type},
                    {"parameters", parameters},
                    {"block_size", config.model.block_size},
                    {"batch_size", config.train.batch_size},
                    {"max_iters", config.train.max_iters}});
  }
  if (json) {
    std::printf("%s\n", rows.dump(2).c_str());
    return;
  }
  Table table({"preset", "type", "parameters", "block", "batch", "updates"});
  for (const auto& row : rows)
    table.add({row["name"].get<std::string>(), row["type"].get<std::string>(), row["parameters"].dump(),
               row["block_size"].dump(), row["batch_size"].dump(), row["max_iters"].dump()});
  std::printf("%s\nparameters for 65 symbols; chargpt inspect NAME shows every option of one\n", table.text().c_str());
}

void run_configs(const Arguments& arguments) {
  if (arguments.schema) {
    std::printf("%s\n", schema_with_model_types().dump(2).c_str());
  } else if (!arguments.show.empty()) {
    load_config(arguments.show);  // names the nearest preset where there is none
    for (const Preset& preset : presets())
      if (preset.name == arguments.show) std::printf("%s", preset.json.c_str());
  } else {
    list_presets(arguments.output.json);
  }
}

}  // namespace

void add_configs(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  add_output_arguments(app, arguments->output, true);
  app.add_flag("--schema", arguments->schema, "print the JSON Schema of a config file");
  app.add_option("--show", arguments->show, "print a preset's file, to start your own from");
  on_parsed(app, arguments, run_configs);
}

}  // namespace chargpt
