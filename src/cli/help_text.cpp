#include "cli/help_text.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "cli/process.h"
#include "report/wrap.h"

namespace chargpt {

namespace {

constexpr std::size_t name_width = 28;

/// Columns of the terminal on stdout; 100 if stdout is not a terminal.
std::size_t line_width() {
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  return columns == 0 ? 100 : std::clamp<std::size_t>(columns, 60, 120);
}

std::string option_text(const OptionText& option, std::size_t width) {
  const bool takes_value = !option.positional() && !option.value.empty();
  std::string left = "  " + (option.letter.empty() ? "" : option.letter + ",") + option.shown_name();
  if (takes_value) left += " " + option.value;
  if (left.size() < name_width)
    left.resize(name_width, ' ');
  else
    left += "\n" + std::string(name_width, ' ');
  std::string text = option.help;
  if (option.positional() && option.value.starts_with("{")) text += " " + option.value;
  if (!option.range.empty()) text += " [" + option.range + "]";
  const bool says_default = text.find("(default") != std::string::npos;
  if (takes_value && !says_default && !option.standard.empty()) text += " (default " + option.standard + ")";
  return left + wrapped(text, name_width, width);
}

std::string usage(const Options& options) {
  std::string line = "Usage: chargpt " + options.command();
  for (const auto& option : options.all()) {
    const OptionText& text = option->text();
    if (!text.positional()) continue;
    const std::string word = text.name + (text.several ? "..." : "");
    line += text.required ? " " + word : " [" + word + "]";
  }
  return line + " [OPTIONS]\n";
}

/// In the order of their first options, those of a config last.
std::vector<std::string> groups_of(const Options& options) {
  std::vector<std::string> groups;
  for (const auto& option : options.all())
    if (std::ranges::count(groups, option->text().group) == 0) groups.push_back(option->text().group);
  std::stable_partition(groups.begin(), groups.end(),  // the one of std::ranges: clang 14 cannot compile GCC 12's
                        [](const std::string& group) { return !group.starts_with(config_groups); });
  return groups;
}

/// "--prompt TEXT  --greedy  …"; empty where none is to be shown.
std::string names_in(const Options& options, const std::string& group) {
  std::string names;
  for (const auto& option : options.all()) {
    const OptionText& shown = option->text();
    if (shown.positional() || shown.hidden || shown.group != group) continue;
    names += (names.empty() ? "" : ", ") + shown.shown_name();
  }
  return names;
}

}  // namespace

std::string full_help(const Options& options, const HelpText& help) {
  const std::size_t width = line_width();
  std::string text = help.summary + "\n\n" + usage(options) + "\n";
  if (const std::string defaults = options.help_defaults(); !defaults.empty())
    text += wrapped(defaults, 0, width) + "\n";
  for (const auto& option : options.all())
    if (option->text().positional()) text += option_text(option->text(), width);
  for (const std::string& group : groups_of(options)) {
    std::string lines;
    for (const auto& option : options.all()) {
      const OptionText& shown = option->text();
      if (!shown.positional() && !shown.hidden && shown.group == group) lines += option_text(shown, width);
    }
    if (!lines.empty()) text += "\n" + group + ":\n" + lines;
  }
  return text + "\nExample: " + help.example + "\n";
}

std::string short_help(const Options& options, const HelpText& help) {
  const std::size_t width = line_width();
  std::string text = help.summary + "\n\n" + usage(options) + "Example: " + help.example + "\n\n";
  for (const auto& option : options.all())
    if (option->text().positional()) text += option_text(option->text(), width);
  for (const std::string& group : groups_of(options)) {
    if (group.starts_with(config_groups)) continue;
    const std::string names = names_in(options, group);
    if (!names.empty()) text += "\n" + group + ":\n  " + wrapped(names, 2, width);
  }
  return text + "\nchargpt " + options.command() + " --help explains them all, with ranges and defaults.\n";
}

}  // namespace chargpt
