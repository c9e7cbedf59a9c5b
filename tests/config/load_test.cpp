#include "config/load.h"
#include "config/describe.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "failure.h"
#include "test_folder.h"

namespace chargpt {
namespace {

ResolvedConfig parse(std::string_view text, std::vector<Override> overrides = {}) {
  return parse_config(text, "mine.json", ".", overrides);
}
std::string complaint(std::string_view text, std::vector<Override> overrides = {}) {
  return message_of(ExitCode::usage, [&] { parse(text, overrides); });
}
/// The message for `--set KEY=VALUE` over an empty config.
std::string set_complaint(const std::string& key, const std::string& value) {
  return complaint("{}", {{key, value, "--set"}});
}
ResolvedConfig set(const std::string& key, const std::string& value) {
  return parse("{}", {{key, value, "--set"}});
}

TEST_CASE("an empty config is the defaults, under the file's name") {
  const ResolvedConfig resolved = parse("{}");
  CHECK(resolved.config.name == "mine");
  CHECK(resolved.config.model.n_layer == ModelConfig{}.n_layer);
  CHECK(resolved.origin.at("model.n_layer").text() == "default");
  CHECK(resolved.origin.size() == option_table().size());
}

TEST_CASE_METHOD(TestFolder, "flags win over the file, the file over what it extends, that over the defaults") {
  write("base.json", R"({"name": "base", "model": {"n_layer": 1, "n_head": 2,
    "n_embd": 30}})");
  const std::string mine = write("mine.json", R"({
    "extends": "base.json",
    "model": {"n_layer": 3, "n_head": 5}
  })");
  const ResolvedConfig resolved = load_config(mine, std::vector<Override>{{"n_layer", "7", "--n_layer"}});
  CHECK(resolved.config.model.n_layer == 7);
  CHECK(resolved.config.model.n_head == 5);
  CHECK(resolved.config.model.n_embd == 30);
  CHECK(resolved.config.model.block_size == 64);
  CHECK(resolved.origin.at("model.n_layer").text() == "--n_layer");
  CHECK(resolved.origin.at("model.n_head").text() == mine + ":3");
  CHECK(resolved.origin.at("model.n_embd").text() == (path() / "base.json:2").string());
  CHECK(resolved.origin.at("model.block_size").text() == "default");
  CHECK(resolved.config.name == "mine");  // not the base's
}

TEST_CASE("a file can extend a preset, and a preset another beside it") {
  const ResolvedConfig mine = parse("{\"extends\": \"nanogpt-cpu\", \"model\": {\"n_layer\": 2}}");
  CHECK(mine.config.train.beta2 == 0.99);
  CHECK(mine.origin.at("train.beta2").text() == "preset nanogpt-cpu");
  CHECK(mine.config.name == "mine");
  const ResolvedConfig masked = load_config("ladder/masked");
  CHECK(masked.config.name == "ladder/masked");
  CHECK(masked.origin.at("train.batch_size").text() == "preset ladder/bigram");
  CHECK(masked.origin.at("model.type").text() == "preset ladder/masked");
}

TEST_CASE_METHOD(TestFolder, "what extends leads to behind a link is what the system finds there") {
  write("base.json", R"({"train": {"seed": 1}})");
  write("real/base.json", R"({"train": {"seed": 2}})");
  write("real/sub/mine.json", R"({"extends": "../base.json"})");
  std::filesystem::create_directory_symlink(path() / "real/sub", path() / "link");
  CHECK(load_config((path() / "link/mine.json").string()).config.train.seed == 2);
}

TEST_CASE_METHOD(TestFolder, "what extends leads to must exist and end") {
  const std::string a = write("a.json", "{\n\"extends\": \"sub/b.json\"}");
  const std::string b = write("sub/b.json", R"({"extends": "../a.json"})");
  CHECK(error_of([&] { load_config(a); }) ==
        Failure{ExitCode::usage,
                b + ":1: extends = \"../a.json\" makes a chain of more than 32 files; does it lead back to itself?"});
  CHECK(error_of([&] { load_config(write("c.json", R"({"extends": "no.json"})")); }) ==
        Failure{ExitCode::missing, (path() / "c.json").string() + ":1: extends = \"no.json\" is neither a file (" +
                                       (path() / "no.json").string() + ") nor a preset"});
  CHECK(error_of([&] { parse(R"({"extends": "nanogpt_cpu"})"); }) ==
        Failure{ExitCode::missing,
                "mine.json:1: extends = \"nanogpt_cpu\" is neither a file nor a preset; did you mean nanogpt-cpu?"});
  CHECK(complaint(R"({"extends": 5})") == "mine.json:1: extends = 5 is not a file or a preset");
}

TEST_CASE("an unknown key is named with its value and the nearest known one") {
  CHECK(complaint("{\n\"train\": {\n\"learnin_rate\": 0.1}}") ==
        "mine.json:3: train.learnin_rate = 0.1 is not an option; did you mean train.learning_rate?");
  CHECK(complaint(R"({"model": {"batch_size": 4}})") ==
        "mine.json:1: model.batch_size = 4 is not an option; did you mean train.batch_size?");
  CHECK(complaint(R"({"model": {"zzz": 4}})") ==
        "mine.json:1: model.zzz = 4 is not an option; chargpt train --help lists the options");
  CHECK(complaint(R"({"trian": {"seed": 4}})") == "mine.json:1: trian = {...} is not a section; did you mean train?");
  CHECK(complaint(R"({"optimisation": {}})") ==
        "mine.json:1: optimisation = {...} is not a section; the sections are data, model, train, eval, sample");
  CHECK(complaint(R"({"train": 5})") == "mine.json:1: train = 5 is not an object of options");
}

TEST_CASE("a value that an option does not take is named with what the option takes") {
  const std::pair<const char*, const char*> wrong[] = {
      {R"(model": {"n_layer": "4")", "model.n_layer = \"4\" must be a whole number from 1 to 1000"},
      {R"(model": {"n_layer": 0)", "model.n_layer = 0 must be a whole number from 1 to 1000"},
      {R"(model": {"n_layer": 2.5)", "model.n_layer = 2.5 must be a whole number from 1 to 1000"},
      {R"(data": {"split_seed": 1e19)", "data.split_seed = 1e19 must be a whole number from 0 to 9007199254740991"},
      {R"(model": {"dropout": null)", "model.dropout = null must be a number from 0 to 0.99"},
      {R"(model": {"rope_base": 1)", "model.rope_base = 1 must be a number above 1"},
      {R"(model": {"bias": 1)", "model.bias = 1 is not true or false"},
      {R"(model": {"norm": "layer_norm")",
       "model.norm = \"layer_norm\" is not one of layernorm, rmsnorm, none; did you mean layernorm?"},
      {R"(model": {"bias_places": "mlp")",
       "model.bias_places = \"mlp\" is not a list of embedding, attention, attention_output, mlp, norm, head, each at "
       "most once"},
      {R"(model": {"conv_places": ["mlp", "mlp"])",
       "model.conv_places = [\"mlp\",\"mlp\"] is not a list of embedding, attention, attention_output, mlp, norm, "
       "head, "
       "each at most once"},
      {R"(data": {"text": 5)", "data.text = 5 is not a string or a list of one or more strings"},
      {R"(data": {"text": [])", "data.text = [] is not a list of one or more strings"},
      {R"(data": {"text": ["a", ""])", "data.text[1] = \"\" is empty"},
      {R"(data": {"text": ["a", 5])", "data.text[1] = 5 is not a string"},
      {R"(data": {"text": "a\u0000b")", "data.text = \"a\\x00b\" contains a NUL character"},
      {R"(train": {"groups": 5)", "train.groups = 5 is not a list of objects"},
  };
  for (const auto& [config, expected] : wrong)
    CHECK(complaint(std::string("{\"") + config + "}}") == std::string("mine.json:1: ") + expected);
  CHECK(complaint("{\"model\": {\"bias_places\": [\"mlp\",\n\"nrom\"]}}") ==
        "mine.json:2: model.bias_places[1] = \"nrom\" is not one of embedding, attention, attention_output, mlp, norm, "
        "head; did you mean norm?");
  CHECK(set_complaint("n_layer", "four") == "--set: model.n_layer = \"four\" must be a whole number from 1 to 1000");
  for (const char* word : {"nan", "", "--", "1e309", "0x10"})
    CHECK(set_complaint("learning_rate", word) ==
          "--set: train.learning_rate = \"" + std::string(word) + "\" must be a number from 0 to 1000");
  CHECK(set_complaint("text", "a\xFF") == "--set: data.text = \"a\\xFF\" is not UTF-8");
}

TEST_CASE("whole numbers may be written with an exponent") {
  CHECK(parse(R"({"train": {"max_iters": 1e3}})").config.train.max_iters == 1000);
  CHECK(parse(R"({"train": {"max_iters": 2000.0}})").config.train.max_iters == 2000);
  CHECK(parse(R"({"train": {"seed": 9007199254740991}})").config.train.seed == 9007199254740991);
}

TEST_CASE("groups are objects of their own options") {
  const Groups groups =
      parse(R"({"train": {"groups": [{"match": "wte|lm_head", "learning_rate": 1e-2}]}})").config.train.groups;
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].match == "wte|lm_head");
  CHECK(groups[0].learning_rate == 1e-2);
  CHECK_FALSE(groups[0].weight_decay.has_value());
  const auto wrong = [](const std::string& group) { return complaint("{\"train\": {\"groups\": [\n" + group + "]}}"); };
  CHECK(wrong(R"({"match": "a", "learning_rat": 3})") ==
        "mine.json:2: train.groups[0].learning_rat = 3 is not an option of a group; did you mean learning_rate?");
  CHECK(wrong(R"({"learning_rate": 3})") ==
        "mine.json:2: train.groups[0] = {...} has no match; add one such as \"match\": \"wte|lm_head\"");
  CHECK(wrong(R"({"match": "(("})") ==
        "mine.json:2: train.groups[0].match = \"((\" is no regular expression; write one such as \"wte|lm_head\"");
  CHECK(wrong(R"({"match": "a", "weight_decay": -1})") ==
        "mine.json:2: train.groups[0].weight_decay = -1 must be a number from 0 to 1000");
  CHECK(wrong("5") ==
        "mine.json:2: train.groups[0] = 5 is not an object with match, lr_scale, learning_rate, weight_decay, "
        "optimizer, momentum");
  CHECK(wrong(R"({"match": "a", "momentum": 0.5})") ==
        "mine.json:2: train.groups[0].momentum = 0.5 has no effect: it needs optimizer = muon|muon_rows; optimizer = "
        "adamw");
  CHECK(parse(R"({"train": {"groups": [{"match": "a", "momentum": 0.5, "optimizer": "muon"}]}})")
            .config.train.groups.size() == 1);
  CHECK(wrong(R"({"match": "a", "lr_scale": 5, "learning_rate": 1e-2})") ==
        "mine.json:2: train.groups[0] = {...} has both lr_scale and learning_rate; keep one: lr_scale is a multiple of "
        "train.learning_rate, learning_rate does not follow it");
}

TEST_CASE("a resolved config keeps of a group what was stated, and reads back equal") {
  const ResolvedConfig read = parse(
      R"({"train": {"groups": [{"match": "a", "lr_scale": 5}, {"match": "b", "learning_rate": 0.01}, {"match": "c"}]}})");
  const auto groups = to_json(read.config)["train"]["groups"];
  CHECK(groups[0]["lr_scale"] == 5);
  CHECK_FALSE(groups[0].contains("learning_rate"));
  CHECK_FALSE(groups[0].contains("weight_decay"));
  CHECK(groups[1]["learning_rate"] == 0.01);
  CHECK_FALSE(groups[1].contains("lr_scale"));
  CHECK(to_json(parse(to_json(read.config).dump()).config) == to_json(read.config));
}

TEST_CASE("options contradict each other only where that is sure") {
  CHECK(complaint(R"({"train": {"learning_rate": 5e-5}})") ==
        "train.min_lr = 1e-04 (default) is above train.learning_rate = 5e-05 (mine.json:1), so the rate would rise; "
        "a tenth of train.learning_rate is usual");
  CHECK(parse(R"({"train": {"learning_rate": 5e-5, "lr_schedule": "constant"}})").config.train.learning_rate == 5e-5);
  CHECK(parse(R"({"train": {"max_iters": 10, "warmup_iters": 100}})").config.train.max_iters == 10);
}

TEST_CASE("limits of the length that one layer sets hold together; a later layer's replace them all") {
  const std::string all = R"({"train": {"max_iters": 500, "max_epochs": 1.5, "max_seconds": 60}})";
  const auto limits = [&](const std::vector<Override>& later) {
    const TrainConfig train = parse(all, later).config.train;
    return std::vector<double>{static_cast<double>(train.max_iters), train.max_epochs, train.max_seconds};
  };
  CHECK(limits({}) == std::vector<double>{500, 1.5, 60});
  CHECK(limits({{"max_iters", "10", "--max_iters"}}) == std::vector<double>{10, 0, 0});
  CHECK(limits({{"max_iters", "0", "--max_iters"}}) == std::vector<double>{0, 0, 0});
  CHECK(limits({{"max_epochs", "3", "--max_epochs"}}) == std::vector<double>{0, 3, 0});
  CHECK(limits({{"max_seconds", "9", "--max_seconds"}}) == std::vector<double>{0, 0, 9});
  CHECK(limits({{"max_seconds", "9", "--max_seconds"}, {"max_iters", "7", "--max_iters"}}) ==
        std::vector<double>{7, 0, 9});
  CHECK(limits({{"max_epochs", "0", "--set"}}) == std::vector<double>{500, 0, 60});
  CHECK(parse(all, {{"max_epochs", "3", "--max_epochs"}}).origin.at("train.max_iters").text() == "--max_epochs");
}

TEST_CASE("the step where the decay ends is refused beside max_seconds, and ignored where inherited") {
  const std::string complaint_of =
      ": train.lr_decay_iters = 100 has no effect: train.max_seconds decides when the decay ends";
  const Override decay{"lr_decay_iters", "100", "--lr_decay_iters"}, seconds{"max_seconds", "60", "--max_seconds"};
  CHECK(complaint(R"({"train": {"max_seconds": 60, "lr_decay_iters": 100}})") == "mine.json:1" + complaint_of);
  CHECK(complaint("{}", {seconds, decay}) == "--lr_decay_iters" + complaint_of);
  CHECK(complaint(R"({"train": {"max_seconds": 60}})", {decay}) == "--lr_decay_iters" + complaint_of);
  CHECK(parse(R"({"extends": "nanogpt-cpu", "train": {"max_seconds": 60}})").config.train.max_seconds == 60);
  CHECK(parse("{}", {seconds, {"lr_decay_iters", "0", "--set"}}).config.train.max_seconds == 60);
  const ResolvedConfig run = parse(R"({"train": {"lr_decay_iters": 100}})", {seconds});
  CHECK(run.config.train.lr_decay_iters == 100);
  CHECK(parse(to_json(run).dump()).config.train.lr_decay_iters == 100);
}

TEST_CASE("a flag takes a word of its option's type, or JSON") {
  CHECK(set("train.learning_rate", "2e-3").config.train.learning_rate == 2e-3);
  CHECK(set("dropout", ".5").config.model.dropout == 0.5);
  CHECK(set("learning-rate", "2e-3").config.train.learning_rate == 2e-3);
  CHECK(set("bias", "true").config.model.bias);
  CHECK(set("norm", "rmsnorm").config.model.norm == Norm::rmsnorm);
  CHECK(set("norm", "\"rmsnorm\"").config.model.norm == Norm::rmsnorm);
  CHECK(set("text", "123").config.data.text == Strings{"123"});
  CHECK(set("text", R"(["a,b", "c"])").config.data.text == Strings{"a,b", "c"});
  CHECK(set("bias_places", "mlp,norm").config.model.bias_places == Places{Place::mlp, Place::norm});
  CHECK(set("bias_places", "[]").config.model.bias_places.empty());
  CHECK(set("groups", R"([{"match": "wte"}])").config.train.groups.size() == 1);
  CHECK(set("separator", "[SEP]").config.data.separator == "[SEP]");
  CHECK(set("separator", R"("{\n")").config.data.separator == "{\n");
  CHECK(set_complaint("bias_places", "mlp,") ==
        "--set: model.bias_places[1] = \"\" is not one of embedding, attention, attention_output, mlp, norm, head");
  CHECK(parse("{}", {{"n_layer", "2", "--n-layer"}}).origin.at("model.n_layer").text() == "--n-layer");
}

TEST_CASE("the config of a run with many texts is read back") {
  ResolvedConfig resolved = parse("{}");
  for (int i = 0; i < 60'000; ++i) resolved.config.data.text.push_back("texts/" + std::to_string(i) + ".txt");
  const std::string kept = to_json(resolved).dump(2);
  CHECK(to_json(parse_config(kept, "config.json", {}).config) == to_json(resolved.config));
}

TEST_CASE("a name names a folder") {
  const std::string longest = "ladder/" + std::string(93, 'm');
  CHECK(parse("{\"name\": \"" + longest + "\"}").config.name == longest);
  for (const char* name : {"../up", "a/../../b", "/etc", "..", "a\\nb"})
    CHECK(complaint("{\"name\": \"" + std::string(name) + "\"}").find("cannot name a folder") != std::string::npos);
  for (const std::string& name : {std::string(), std::string(101, 'x')})
    CHECK(complaint("{\"name\": \"" + name + "\"}").find("cannot name a folder; it takes 1 to 100 bytes") !=
          std::string::npos);
  CHECK(complaint(R"({"name": 5})").starts_with("mine.json:1: name = 5 cannot name a folder"));
}

TEST_CASE("overrides of a resolved config change it whole or not at all") {
  ResolvedConfig resolved = parse(R"({"train": {"max_epochs": 2}})");
  apply_overrides(resolved, std::vector<Override>{{"max_iters", "3000", "--set"}});
  CHECK(resolved.config.train.max_iters == 3000);
  CHECK(resolved.config.train.max_epochs == 0);
  CHECK(resolved.config.name == "mine");
  CHECK(resolved.origin.at("train.max_iters").text() == "--set");
  const std::string before = to_json(resolved).dump();
  CHECK(error_of([&] {
          apply_overrides(resolved, std::vector<Override>{{"n_layer", "2", "--set"}, {"min_lr", "1", "--set"}});
        }).code == ExitCode::usage);
  CHECK(to_json(resolved).dump() == before);
}

TEST_CASE("a line about options that do not fit together says where the first of them was set") {
  const ResolvedConfig resolved = parse("{\"model\": {\n\"n_head\": 5}}", {{"n_embd", "128", "--n_embd"}});
  const auto located = [&](const std::string& line) {
    const Error error = with_origin(Error(ExitCode::usage, line), resolved);
    CHECK(error.code() == ExitCode::usage);
    return std::string(error.what());
  };
  CHECK(located("model.n_head = 5 does not divide model.n_embd = 128; 4 or 8 would") ==
        "mine.json:2: model.n_head = 5 does not divide model.n_embd = 128; 4 or 8 would");
  CHECK(located("model.n_layer = 4 does not suit model.n_embd = 128") ==
        "--n_embd: model.n_layer = 4 does not suit model.n_embd = 128");
  CHECK(located("model.n_layer = 4 is too deep") == "model.n_layer = 4 is too deep");
  CHECK(located("mine.json:2: model.n_head = 5 is odd") == "mine.json:2: model.n_head = 5 is odd");
  CHECK(located("there is no room") == "there is no room");
}

TEST_CASE("a run's config keeps where its values came from, exactly") {
  ResolvedConfig run = parse(R"({"extends": "nanogpt-cpu", "model": {"n_head": 2}})", {{"n_layer", "2", "--n_layer"}});
  run.origin["data.text"] = {Origin::By::program, "built in"};
  const ResolvedConfig again = parse_config(to_json(run).dump(1), "runs/a/config.json", "runs/a");
  CHECK(again.origin == run.origin);
  CHECK(again.config.name == "mine");
  CHECK(again.given.empty());
  CHECK(to_json(again).dump() == to_json(run).dump());
}

TEST_CASE("origins that no run writes are refused") {
  CHECK(complaint(R"({"origin": {"model.layers": "default"}})") ==
        "mine.json:1: origin.model.layers = \"default\" is not an origin such as \"preset default\"");
  for (const char* origin : {"\"\"", "\"x\"", "\"default x\"", "\"preset\"", "\"--seed\"", "5", "null", "{}"})
    CHECK(complaint("{\"origin\": {\"train.seed\": " + std::string(origin) + "}}").find("is not an origin") !=
          std::string::npos);
  CHECK(complaint(R"({"origin": 5})") == "mine.json:1: origin = 5 is not an object of options");
  CHECK(stored_origin("file a\nb")->where == "a\\nb");
}

}  // namespace
}  // namespace chargpt
