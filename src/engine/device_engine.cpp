#include "engine/device_engine.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "engine/module_loss.h"
#include "engine/precision.h"
#include "model/dropout.h"

namespace chargpt {

using torch::Tensor;

// ---- DeviceTexts

namespace {

/// The ids as a device's operations read them: 2 bytes become 4, for which LibTorch has all of them.
Tensor on_the_host(TokenView tokens) {
  if (tokens.width() == 1) {
    Tensor ids = at::empty({tokens.size()}, at::kByte);
    std::memcpy(ids.mutable_data_ptr(), tokens.bytes().data(), tokens.bytes().size());
    return ids;
  }
  Tensor ids = at::empty({tokens.size()}, at::kInt);
  auto* const to = ids.mutable_data_ptr<std::int32_t>();
  for (std::int64_t i = 0; i < tokens.size(); ++i) to[i] = static_cast<std::int32_t>(tokens[i]);
  return ids;
}

Tensor starts_of(const WindowBatch& windows) {
  Tensor starts = at::empty({windows.B()}, at::kLong);
  std::ranges::copy(windows.starts, starts.mutable_data_ptr<std::int64_t>());
  return starts;
}

}  // namespace

const Tensor& DeviceTexts::of(TokenView tokens) {
  Tensor& text = texts_[{tokens.bytes().data(), tokens.size()}];
  if (!text.defined()) text = on_the_host(tokens).to(device_);
  return text;
}

std::pair<Tensor, Tensor> DeviceTexts::ids(const DeviceWindows& windows) {
  const std::int64_t B = windows.starts.size(0), T = windows.T;
  if (!offsets_.defined() || offsets_.size(0) != T + 1)
    offsets_ = at::arange(T + 1, torch::TensorOptions(device_).dtype(at::kLong));
  const Tensor places = windows.starts.unsqueeze(1) + offsets_;  // (B, T + 1)
  const Tensor ids = windows.text.index_select(0, places.view(-1)).to(at::kLong).view({B, T + 1});
  return {ids.narrow(1, 0, T).contiguous(), ids.narrow(1, 1, T).contiguous()};
}

// ---- DeviceEngine

DeviceEngine::DeviceEngine(LanguageModel& model, ParameterArena& arena, const TrainConfig& train)
    : model_(model),
      arena_(arena),
      dtype_(train.dtype),
      device_(device_of(arena)),
      stream_(device_),
      texts_(device_),
      ordered_(device_) {}

std::string DeviceEngine::notice() const {
  return device_.is_cpu() ? "the cuda engine computes on the CPU here, more slowly than the cpu engine does" : "";
}

Gradients DeviceEngine::gradients(const GradientInput& input) {
  const DeviceStream::Use use(stream_);
  std::vector<DeviceWindows> micro_batches;
  for (const WindowBatch& windows : input.micro_batches)
    micro_batches.push_back({text(windows.tokens), starts_of(windows).to(device_), windows.T});
  if (input.heartbeat) input.heartbeat(0);
  const DropoutKey key{.seed = input.seed, .step = input.step, .micro_batch = 0, .first_window = input.share.first};
  seed_dropout(device_, key);
  const auto own = static_cast<double>(input.micro_batches.front().B());
  const Tensor loss =
      leave_gradients(micro_batches, key, input.share.all > 0 ? own / static_cast<double>(input.share.all) : 1);
  arena_.collect_row_gradients();
  return read_gradients(loss, arena_.gradient_norm(), arena_.row_gradient_norm());
}

Tensor DeviceEngine::leave_gradients(std::span<const DeviceWindows> micro_batches, DropoutKey key, double part) {
  const PrecisionScope precision(device_, dtype_);
  return ordered_.run([&] { return summed_gradients(micro_batches, key, part); });
}

Tensor DeviceEngine::summed_gradients(std::span<const DeviceWindows> micro_batches, DropoutKey key, double part) {
  arena_.zero_gradients();
  const double share = part / static_cast<double>(micro_batches.size());
  Tensor total = torch::zeros({}, torch::TensorOptions().dtype(torch::kFloat32).device(device_));
  for (const DeviceWindows& windows : micro_batches) {
    const auto [inputs, targets] = texts_.ids(windows);
    const Tensor loss = cross_entropy(model_, inputs, targets, {.dropout = &key}, at::Reduction::Mean) * share;
    if (loss.requires_grad()) loss.backward();
    total += loss.detach();
    ++key.micro_batch;
  }
  return total;
}

/// One recording for each text and length of window, for as many windows as it was first asked for; fewer are filled up
/// with the first of them.
DeviceEngine::Scoring& DeviceEngine::scoring_of(const WindowBatch& windows) {
  Scoring& scoring = scorings_[{windows.tokens.bytes().data(), windows.T}];
  if (scoring.starts.defined() && scoring.starts.size(0) >= windows.B()) return scoring;
  const Tensor ids = text(windows.tokens);
  scoring.work.reset();
  scoring.starts = torch::zeros({windows.B()}, torch::TensorOptions(device_).dtype(at::kLong));
  scoring.losses = torch::empty({windows.numel()}, torch::TensorOptions(device_));
  const auto score = [this, there = DeviceWindows{ids, scoring.starts, windows.T}, losses = scoring.losses] {
    const torch::NoGradGuard no_grad;
    const PrecisionScope precision(device_, Dtype::float32);
    const auto [inputs, targets] = texts_.ids(there);
    losses.copy_(cross_entropy(model_, inputs, targets, {}, at::Reduction::None));
  };
  score();  // nothing may be done for the first time while it is recorded
  try {
    scoring.work = record(device_, score);
  } catch (const std::exception&) {  // what cannot be recorded is done again each time
    scoring.work = record(torch::kCPU, score);
  }
  return scoring;
}

void DeviceEngine::score(const WindowBatch& windows, std::span<float> losses) {
  const DeviceStream::Use use(stream_);
  const Scoring& scoring = scoring_of(windows);
  Tensor starts = torch::full({scoring.starts.size(0)}, windows.starts.front(), at::kLong);
  std::ranges::copy(windows.starts, starts.mutable_data_ptr<std::int64_t>());
  scoring.starts.copy_(starts);
  scoring.work->repeat();
  const Tensor all = scoring.losses.narrow(0, 0, windows.numel()).cpu();
  std::copy_n(all.const_data_ptr<float>(), losses.size(), losses.begin());
}

}  // namespace chargpt
