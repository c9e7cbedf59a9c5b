// Which row an n-gram has, and what its table costs.
#include "model/ngram.h"

#include <ATen/CPUGeneratorImpl.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "variants.h"
//
#include "test.h"

namespace chargpt {
namespace {

using torch::Tensor;
using Rows = std::vector<std::int64_t>;

std::vector<NgramTable> tables_of(const Integers& orders, const Integers& rows, std::int64_t vocab_size) {
  ModelConfig config;
  config.ngram_orders = orders;
  config.ngram_rows = rows;
  return ngram_tables(config, vocab_size);
}

Tensor ids_of(const Rows& ids) {
  return torch::tensor(ids, at::kLong).unsqueeze(0);  // (1, T)
}

/// (B, T) ids without a pattern.
Tensor random_ids(std::int64_t B, std::int64_t T, std::int64_t vocab_size) {
  return at::randint(vocab_size, {B, T}, at::detail::createCPUGenerator(5), at::kLong);
}

TEST_CASE("a table with a row for every n-gram numbers them, the id before the first being V") {
  const auto tables = tables_of({2, 3}, {12, 48}, 3);
  REQUIRE(tables[0].numbered);
  REQUIRE(tables[1].numbered);
  const auto rows = ngram_rows(tables, 3, ids_of({2, 0, 1, 1}));
  CHECK(rows[0].equal(ids_of({2 + 3 * 3, 0 + 3 * 2, 1 + 3 * 0, 1 + 3 * 1})));
  CHECK(rows[1].equal(ids_of({2 + 3 * 3 + 12 * 3, 0 + 3 * 2 + 12 * 3, 1 + 3 * 0 + 12 * 2, 1 + 3 * 1 + 12 * 0})));
}

TEST_CASE("a table is numbered from V (V + 1)^(n-1) rows on, and one row less is hashed") {
  CHECK(tables_of({2}, {65 * 66}, 65)[0].numbered);
  CHECK_FALSE(tables_of({2}, {65 * 66 - 1}, 65)[0].numbered);
  CHECK_FALSE(tables_of({16}, {1000000000}, 1114112)[0].numbered);
  CHECK(tables_of({3}, {48}, 3)[0].parameter == "transformer.ngram.3.weight");
}

TEST_CASE("both ways of finding rows agree, for any vocabulary and past") {
  for (const std::int64_t vocab_size : {2, 65, 20000, 1114112})
    for (const std::int64_t past : {0, 1, 3, 9}) {
      INFO(vocab_size << " symbols after " << past);
      const auto tables = tables_of({2, 3, 6, 16}, {4290, 77, 1000000000, 1}, vocab_size);
      const Tensor ids = random_ids(5, 40, vocab_size), before = random_ids(5, past, vocab_size);
      const auto rows = ngram_rows(tables, vocab_size, ids, before);
      const auto expected = ngram_rows_by_operations(tables, vocab_size, ids, before);
      for (std::size_t i = 0; i < tables.size(); ++i) {
        CHECK(rows[i].equal(expected[i]));
        CHECK(rows[i].min().item<std::int64_t>() >= 0);
        CHECK(rows[i].max().item<std::int64_t>() < tables[i].rows);
      }
    }
}

TEST_CASE("rows of a text do not depend on where it was cut") {
  const auto tables = tables_of({2, 5}, {30, 1000}, 13);
  const Tensor ids = random_ids(3, 20, 13);
  const auto whole = ngram_rows(tables, 13, ids);
  for (const std::int64_t cut : {1, 3, 4, 17}) {
    const auto tail = ngram_rows(tables, 13, ids.narrow(1, cut, 20 - cut), ids.narrow(1, 0, cut));
    for (std::size_t i = 0; i < tables.size(); ++i) CHECK(tail[i].equal(whole[i].narrow(1, cut, 20 - cut)));
  }
}

TEST_CASE("every id of an n-gram counts, the oldest too, and nothing older") {
  constexpr std::int64_t vocab_size = 5000;
  const auto tables = tables_of({5}, {1 << 20}, vocab_size);
  const Tensor ids = random_ids(1, 6, vocab_size).expand({2000, 6}).clone();
  const auto distinct_rows = [&](std::int64_t column) {
    Tensor changed = ids.clone();
    changed.select(1, column).copy_(at::arange(2000));
    return std::get<0>(at::_unique2(ngram_rows(tables, vocab_size, changed)[0].select(1, 5))).numel();
  };
  CHECK(distinct_rows(0) == 1);
  for (std::int64_t column = 1; column < 6; ++column)
    CHECK(distinct_rows(column) > 1990);  // of 2000; 2 pairs by chance
}

TEST_CASE("hashed n-grams spread over the rows as drawn at random") {
  constexpr std::int64_t V = 65, rows = 4096;
  const Tensor pairs = at::stack({at::arange(V * V).div(V, "floor"), at::arange(V * V) % V}, 1);  // every bigram
  const Tensor found = ngram_rows(tables_of({2}, {rows}, V), V, pairs)[0].select(1, 1);
  const Tensor counts = at::bincount(found, {}, rows);
  const double empty = (counts == 0).sum().item<double>() / rows;
  CHECK(empty == Approx(std::exp(-static_cast<double>(V * V) / rows)).margin(0.025));  // four deviations
  CHECK(counts.max().item<std::int64_t>() <= 9);
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_CASE("tables are zero and take up no memory before they are written") {
  ModelConfig config = small_config();
  config.n_embd = 128;
  config.ngram_orders = {3, 5};
  config.ngram_rows = {300000, 1000000};
  const std::int64_t before = resident_bytes();
  const auto model = make_model(config, test_vocab, 1);  // 666 MB of tables
  CHECK(resident_bytes() - before < 50 << 20);
  const auto parameters = model->named_parameters();
  CHECK(parameters["transformer.ngram.5.weight"].narrow(0, 999990, 10).abs().max().item<double>() == 0);
}

TEST_CASE("tables draw nothing: a model's other weights are those of the model without them") {
  ModelConfig config = small_config();
  const auto plain = make_model(config, test_vocab, 1)->named_parameters();
  config.ngram_orders = {2};
  config.ngram_rows = {100};
  for (const Init init : {Init::gpt2, Init::pytorch}) {
    config.init = init;
    const auto with_tables = make_model(config, test_vocab, 1)->named_parameters();
    CHECK(with_tables["transformer.ngram.2.weight"].abs().max().item<double>() == 0);
    if (init == Init::gpt2)
      for (const auto& parameter : plain) CHECK(parameter.value().equal(with_tables[parameter.key()]));
  }
}

TEST_CASE("narrow tables are joined by a projection as wide as the model") {
  ModelConfig config = small_config();
  config.ngram_orders = {2, 3};
  config.ngram_rows = {50, 60};
  config.ngram_size = 4;
  const auto parameters = make_model(config, test_vocab, 1)->named_parameters();
  CHECK(parameters["transformer.ngram.3.weight"].sizes() == torch::IntArrayRef({60, 4}));
  const Tensor projection = parameters["transformer.ngram_proj.weight"];
  CHECK(projection.sizes() == torch::IntArrayRef({24, 8}));
  CHECK(projection.std().item<double>() == Approx(0.5).margin(0.1));
}

}  // namespace
}  // namespace chargpt
