#include "model/one_order.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>

namespace chargpt {
namespace {

class Silence : public c10::WarningHandler {
 public:
  void process(const c10::Warning& /*warning*/) override {}
};

}  // namespace

OneOrder::OneOrder(const torch::Device& device, bool strict)
    : sets_(!device.is_cpu()),
      before_(at::globalContext().deterministicAlgorithms()),
      warn_only_before_(at::globalContext().deterministicAlgorithmsWarnOnly()),
      fill_before_(at::globalContext().deterministicFillUninitializedMemory()),
      handler_before_(c10::WarningUtils::get_warning_handler()) {
  if (!sets_) return;
  static Silence silence;
  c10::WarningUtils::set_warning_handler(&silence);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/!strict);
  at::globalContext().setDeterministicFillUninitializedMemory(false);  // nobody reads it before it is written
}

OneOrder::~OneOrder() {
  if (!sets_) return;
  at::globalContext().setDeterministicFillUninitializedMemory(fill_before_);
  at::globalContext().setDeterministicAlgorithms(before_, warn_only_before_);
  c10::WarningUtils::set_warning_handler(handler_before_);
}

/// As LibTorch words it: "… does not have a deterministic implementation", "Deterministic behavior was enabled …".
bool OrderedWork::is_lack_of_order(const std::exception& failure) {
  return std::string(failure.what()).find("eterministic") != std::string::npos;
}

void OrderedWork::give_up(const std::exception& failure) {
  const std::string what = failure.what();
  strict_ = false;
  notice_ = "on " + device_.str() + " runs of this model do not repeat bit for bit: " + what.substr(0, what.find('\n'));
}

}  // namespace chargpt
