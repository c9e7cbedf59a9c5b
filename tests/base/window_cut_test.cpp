#include "token_text.h"

using namespace chargpt;

namespace {

constexpr std::uint8_t document = 9;

using Text = std::vector<std::uint8_t>;
using Numbers = std::vector<std::int64_t>;

/// Begin, length, from and to of each window.
std::vector<Numbers> windows_of(const TokenView& text, std::int64_t length, std::int64_t stride) {
  const WindowCut cut(text, length, stride);
  std::vector<Numbers> windows;
  for (std::int64_t i = 0; i < cut.count(); ++i)
    windows.push_back({cut[i].begin, cut[i].length, cut[i].from, cut[i].to});
  return windows;
}

}  // namespace

TEST_CASE("a text without documents is cut every stride ids, the last window short") {
  const Text text{0, 1, 2, 3, 4, 5, 6, 7, 8, 0};
  const TokenView view = view_of(text);
  CHECK(windows_of(view, 4, 4) == std::vector<Numbers>{{0, 4, 0, 4}, {4, 4, 0, 4}, {8, 1, 0, 1}});
  CHECK(windows_of(view, 4, 3) == std::vector<Numbers>{{0, 4, 0, 4}, {3, 4, 1, 4}, {6, 3, 1, 3}});
  CHECK(windows_of(view.slice(0, 1), 4, 4).empty());
}

TEST_CASE("short documents are packed whole, and one that does not fit begins the next window") {
  const Text text{9, 1, 2, 9, 3, 9, 4, 5, 6, 9};  // targets: 12. 3. 456.
  CHECK(windows_of(view_of(text, document), 6, 6) == std::vector<Numbers>{{0, 6, 0, 5}, {5, 4, 0, 4}});
  CHECK(windows_of(view_of(text, document), 5, 5) == std::vector<Numbers>{{0, 5, 0, 5}, {5, 4, 0, 4}});
  CHECK(windows_of(view_of(text, document), 9, 9) == std::vector<Numbers>{{0, 9, 0, 9}});
}

TEST_CASE("a long document is cut from its own beginning, and its rest goes together with short ones") {
  const Text text{9, 1, 9, 2, 3, 4, 5, 6, 9, 7, 9};  // targets: 1. 23456. 7.
  CHECK(windows_of(view_of(text, document), 4, 4) == std::vector<Numbers>{{0, 4, 0, 2}, {2, 4, 0, 4}, {6, 4, 0, 4}});
  CHECK(windows_of(view_of(text, document), 4, 2) ==
        std::vector<Numbers>{{0, 4, 0, 2}, {2, 4, 0, 4}, {4, 4, 2, 4}, {8, 2, 0, 2}});
}

TEST_CASE("every target of a text of documents is scored once, whatever the window and the stride") {
  Text text{9};
  for (std::int64_t length : {1, 5, 30, 2, 2, 17, 1, 64, 3}) {
    for (std::int64_t i = 0; i < length; ++i) text.push_back(static_cast<std::uint8_t>(i % 8));
    text.push_back(9);
  }
  for (const std::int64_t cut_off : {0, 3})  // the last document may lack its end
    for (std::int64_t length = 1; length <= 70; length += 3)
      for (std::int64_t stride = 1; stride <= length; stride += 4) {
        const TokenView view = view_of(text, document).slice(0, std::ssize(text) - cut_off);
        std::vector<int> scored(static_cast<std::size_t>(view.size()));
        for (const Numbers& window : windows_of(view, length, stride)) {
          CHECK(window[0] + window[1] < view.size());
          for (std::int64_t target = window[2]; target < window[3]; ++target)
            ++scored[static_cast<std::size_t>(window[0] + target + 1)];
        }
        scored[0] = 1;
        INFO("windows of " << length << " every " << stride);
        CHECK(std::ranges::all_of(scored, [](int times) { return times == 1; }));
      }
}
