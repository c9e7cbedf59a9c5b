#include "training/commands.h"

#include <array>

#include "training/module_run.h"

namespace chargpt {
namespace {

class ModulesOfRun : public Modules {
 public:
  ModulesOfRun(const Checkpoint& checkpoint, const ModelUse& use) : run_(checkpoint, use) {}
  WindowScorer& scorer() override { return run_.engine(); }
  std::unique_ptr<NextLogits> next_logits(const DecodeOptions& options) override {
    const Decoding decoding = options.rerun ? Decoding::uncached : Decoding::cached;
    return chargpt::next_logits(run_.model(), {.decoding = decoding, .context = options.context});
  }

 private:
  ModuleRun run_;
};

std::unique_ptr<Modules> modules_of(const Checkpoint& checkpoint, const ModelUse& use) {
  return std::make_unique<ModulesOfRun>(checkpoint, use);
}

constexpr std::array<TrainingHalf::CommandOptions, 6> table{{{"train", add_train},
                                                             {"resume", add_resume},
                                                             {"compare", add_compare},
                                                             {"tune", add_tune},
                                                             {"bench", add_bench},
                                                             {"doctor", add_doctor}}};

constexpr TrainingHalf whole{.commands = table, .modules = modules_of};

}  // namespace

const TrainingHalf& whole_training_half() {
  return whole;
}

}  // namespace chargpt
