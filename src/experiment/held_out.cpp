#include "experiment/held_out.h"

#include <memory>
#include <utility>

#include "text/text_listing.h"

namespace chargpt {

Corpus train_split_of(const Corpus& corpus) {
  const auto whole = std::make_shared<Corpus>(corpus);
  const double part = corpus.holdout().fraction > 0 ? corpus.holdout().fraction : DataConfig{}.val_fraction;
  Corpus half(whole->vocabulary(), whole->train(), whole, {.fraction = part, .most = whole->holdout().most});
  return std::move(half).read_from(whole->listing());
}

}  // namespace chargpt
