// The grid of --vary: how its values are split, how variants are named, what is refused.
#include "compare/variants.h"

#include "failure.h"

namespace chargpt {
namespace {

std::vector<Variant> variants_of(const Names& varied, const Names& configs = {"ladder/transformer"},
                                 const std::vector<Override>& overrides = {}) {
  std::vector<VariedOption> options;
  for (const std::string& given : varied) options.push_back(parse_varied(given));
  return load_variants(configs, options, overrides);
}

Names names_of(const std::vector<Variant>& variants) {
  Names names;
  for (const Variant& variant : variants) names.push_back(variant.name());
  return names;
}

std::string refusal_of(const Names& varied, const Names& configs = {"ladder/transformer"},
                       const std::vector<Override>& overrides = {}) {
  return message_of(ExitCode::usage, [&] { variants_of(varied, configs, overrides); });
}

}  // namespace

TEST_CASE("commas separate the values to vary, but not inside JSON") {
  CHECK(parse_varied("model.n_head=1,2,4").values == Names{"1", "2", "4"});
  CHECK(parse_varied("data.text=a=b").values == Names{"a=b"});
  CHECK(parse_varied(R"(bias_places=["mlp","norm"],[],["head"])").values ==
        Names{R"(["mlp","norm"])", "[]", R"(["head"])"});
  CHECK(parse_varied(R"(x=[{"a":[1,2],"b":"]"}],"y,\",z")").values == Names{R"([{"a":[1,2],"b":"]"}])", R"("y,\",z")"});
  CHECK(parse_varied(R"(bias_places=["mlp"], ["norm", "head"])").values == Names{R"(["mlp"])", R"( ["norm", "head"])"});
  CHECK(parse_varied("data.text=[1,2").values == Names{"[1,2"});
}

TEST_CASE("every config is taken with every combination, named by what differs") {
  const auto variants = variants_of({"model.n_head=1,2", "dropout=0,0.1,0.2"}, {"ladder/transformer", "default"});
  REQUIRE(variants.size() == 12);
  CHECK(names_of(variants)[0] == "ladder/transformer n_head=1 dropout=0");
  CHECK(names_of(variants)[1] == "ladder/transformer n_head=1 dropout=0.1");
  CHECK(names_of(variants)[11] == "default n_head=2 dropout=0.2");
  CHECK(variants[11].options.config.model.n_head == 2);
  CHECK(variants[11].options.config.model.dropout == 0.2);
  CHECK(variants[11].options.origin.at("model.dropout").text() == "--vary");
  CHECK(variants[11].levels == Names{"n_head=2", "dropout=0.2"});
  CHECK(names_of(variants_of({})) == Names{"ladder/transformer"});
}

TEST_CASE("a value that would not do in a folder's name stands there by its place") {
  const std::string beginning = "ladder/transformer ", longest = "abcdefghijklmnopqrstuvwx";  // 24 bytes
  CHECK(names_of(variants_of({R"(bias_places=["mlp","norm"],["mlp"],[])"})) ==
        Names{beginning + "bias_places=mlp,norm", beginning + "bias_places=mlp", beginning + "bias_places=#3"});
  CHECK(names_of(variants_of({"data.text=../a/b,c d,é," + longest + "," + longest + "y"})) ==
        Names{beginning + "text=#1", beginning + "text=cd", beginning + "text=#3", beginning + "text=" + longest,
              beginning + "text=#5"});
  CHECK(names_of(variants_of({"data.text=a b,ab"})) ==  // alike without the blank
        Names{beginning + "text=#1", beginning + "text=#2"});
  CHECK_THAT(refusal_of({"data.text=" + longest, "separator=" + longest, "max_iters=100000,1000000"}),
             Catch::Contains("max_iters=1000000\" has a name of 101 bytes, above the limit of 100"));
}

TEST_CASE("names of variants give folders of one word, no two alike") {
  const Names names = names_of(variants_of({"n_head=1,2"}, {"ladder/transformer", "ladder/transformer"}));
  CHECK(names[2] == "ladder/transformer n_head=1-2");
  CHECK(one_word(names[2]) == "ladder-transformer-n_head=1-2");
  CHECK(one_word(".a b\\c") == "run.a-b-c");
}

TEST_CASE("what cannot be varied is refused in one line") {
  CHECK_THAT(refusal_of({"n_head=,2"}), Catch::Contains("value 1 is empty"));
  CHECK_THAT(refusal_of({"n_head=2,2"}), Catch::Contains("2 is given twice"));
  CHECK_THAT(refusal_of({"seed=1,2"}), Catch::Contains("a seed is not a variant"));
  CHECK_THAT(refusal_of({"n_head=1,2", "model.n_head=4"}), Catch::Contains("model.n_head is given twice"));
  CHECK_THAT(refusal_of({"n_head=1,2"}, {"default"}, {{"model.n_head", "4", "--set"}}),
             Catch::Contains("model.n_head is given twice, by --set (4) and by --vary (1)"));
}

}  // namespace chargpt
