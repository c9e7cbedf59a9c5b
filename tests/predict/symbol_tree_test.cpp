#include "predict/symbol_tree.h"

#include <numeric>

#include "base/random.h"
#include "test.h"

namespace chargpt {
namespace {

using Frequencies = std::vector<std::int64_t>;

std::vector<std::vector<bool>> bits_of(const SymbolTree& tree) {
  std::vector<std::vector<bool>> all;
  for (std::int64_t symbol = 0; symbol < tree.symbols(); ++symbol) {
    all.emplace_back();
    for (const SymbolTree::Step step : tree.path(symbol)) all.back().push_back(step.bit);
  }
  return all;
}

std::vector<double> joined(const SymbolTree& tree, const std::vector<double>& of_bits) {
  std::vector<double> of_symbols(static_cast<std::size_t>(tree.symbols()));
  tree.join(of_symbols, 0, [&](std::int32_t node, double, int&) { return of_bits[static_cast<std::size_t>(node)]; });
  return of_symbols;
}

}  // namespace

TEST_CASE("a tree that fits in the head") {
  // b and c (1 + 2) become node 0, which with d (4) becomes node 1, and that with a (9) the root.
  const SymbolTree tree(Frequencies{9, 1, 2, 4});
  CHECK(tree.nodes() == 3);
  CHECK(bits_of(tree) ==
        std::vector<std::vector<bool>>{{true}, {false, false, false}, {false, false, true}, {false, true}});
  CHECK(tree.path(2)[0].node == 2);
  CHECK(tree.path(2)[1].node == 1);
  CHECK(tree.path(2)[2].node == 0);
}

TEST_CASE("more frequent symbols have no longer paths, equal ones paths that differ by one decision at most") {
  RandomStream random(5, Purpose::windows);
  for (const std::uint64_t symbols : {3, 17, 300}) {
    Frequencies frequencies(symbols);
    for (std::int64_t& frequency : frequencies) frequency = static_cast<std::int64_t>(random.below(40));
    const SymbolTree tree(frequencies);
    CHECK(tree.nodes() == tree.symbols() - 1);
    for (std::int64_t a = 0; a < tree.symbols(); ++a)
      for (std::int64_t b = 0; b < tree.symbols(); ++b)
        if (frequencies[static_cast<std::size_t>(a)] > frequencies[static_cast<std::size_t>(b)])
          CHECK(tree.path(a).size() <= tree.path(b).size());
    CHECK(bits_of(tree) == bits_of(SymbolTree(frequencies)));
  }
  const SymbolTree alike(Frequencies(5000, 0));
  for (std::int64_t symbol = 0; symbol < alike.symbols(); ++symbol) {
    CHECK(alike.path(symbol).size() >= 12);
    CHECK(alike.path(symbol).size() <= 13);
  }
}

TEST_CASE("join is the inverse of split, and both agree with the paths") {
  RandomStream random(6, Purpose::windows);
  for (const std::uint64_t symbols : {1, 2, 9, 300}) {
    Frequencies frequencies(symbols);
    for (std::int64_t& frequency : frequencies) frequency = static_cast<std::int64_t>(random.below(10));
    const SymbolTree tree(frequencies);
    std::vector<double> p(symbols), of_bits(static_cast<std::size_t>(tree.nodes()));
    for (double& each : p) each = random.uniform() + 1e-6;
    const double all = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& each : p) each /= all;
    tree.split(p, of_bits);
    const std::vector<double> again = joined(tree, of_bits);
    for (std::int64_t symbol = 0; symbol < tree.symbols(); ++symbol) {
      double by_path = 1;
      for (const SymbolTree::Step step : tree.path(symbol)) {
        const double one = of_bits[static_cast<std::size_t>(step.node)];
        by_path *= step.bit ? one : 1 - one;
      }
      CHECK(by_path == Approx(p[static_cast<std::size_t>(symbol)]).epsilon(1e-12));
      CHECK(again[static_cast<std::size_t>(symbol)] == Approx(by_path).epsilon(1e-12));
    }
  }
}

}  // namespace chargpt
