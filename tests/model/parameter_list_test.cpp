// The list of parameters against what the modules register.
#include "network/layers.h"

#include "variants.h"

#include "test.h"

namespace chargpt {
namespace {

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
      CHECK(list[i].stacked == (list[i].name.ends_with("c_attn.weight") ? 3 : 1));
      std::vector<std::int64_t> with_one_more = list[i].shape;
      if (list[i].counts_symbols) ++with_one_more.front();
      CHECK(with_one_more == more[i].value().sizes().vec());
    }
  }
}

}  // namespace
}  // namespace chargpt
