// The list of parameters against what the modules register.
#include "network/layers.h"

#include "variants.h"

#include "test.h"

namespace chargpt {
namespace {

/// The role as the name tells it.
ParameterRole role_by_name(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (name.ends_with(".bias")) return ParameterRole::bias;
  if (has("wte") || has("wpe")) return ParameterRole::embedding;
  if (has("conv_")) return ParameterRole::kernel;
  return has("ln_") ? ParameterRole::gain : ParameterRole::matrix;
}

Place place_by_name(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("ln_")) return Place::norm;
  if (has("lm_head")) return Place::head;
  if (has("mlp.") || has("conv_2")) return Place::mlp;
  if (has("attn.c_proj")) return Place::attention_output;
  return has("c_attn") || has("conv_1") ? Place::attention : Place::embedding;
}

TEST_CASE("the list has the parameters of the modules, in their order") {
  for (const auto& [name, config] : all_variants()) {
    INFO(name);
    const std::vector<Parameter> list = parameter_list(config, test_vocab);
    const auto model = make_model(config, test_vocab, 1), grown = make_model(config, test_vocab + 1, 1);
    const auto registered = model->named_parameters(), more = grown->named_parameters();
    REQUIRE(list.size() == registered.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      INFO(list[i].name);
      REQUIRE(list[i].name == registered[i].key());
      CHECK(list[i].shape == registered[i].value().sizes().vec());
      CHECK(list[i].numel() == registered[i].value().numel());
      CHECK(list[i].role == role_by_name(list[i].name));
      CHECK(list[i].place == place_by_name(list[i].name));
      CHECK(list[i].stacked == (list[i].name.ends_with("c_attn.weight") ? 3 : 1));
      std::vector<std::int64_t> with_one_more = list[i].shape;
      if (list[i].counts_symbols) ++with_one_more.front();
      CHECK(with_one_more == more[i].value().sizes().vec());
    }
  }
}

}  // namespace
}  // namespace chargpt
