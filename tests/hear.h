// Listeners that are functions.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "train/trainer.h"

namespace chargpt {

template <class Event>
class Hearing : public Listener {
 public:
  explicit Hearing(std::function<void(const Event&)> body) : body_(std::move(body)) {}
  using Listener::on;
  void on(const Event& event) override { body_(event); }

 private:
  std::function<void(const Event&)> body_;
};

/// Calls `body` at each event of this kind: hear<StepEvent>(trainer, [&](const StepEvent& event) { … }).
template <class Event>
void hear(Trainer& trainer, std::function<void(const Event&)> body) {
  trainer.add_listener(std::make_shared<Hearing<Event>>(std::move(body)));
}

}  // namespace chargpt
