#include "cli/help_text.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "cli/process.h"
#include "report/terminal.h"

namespace chargpt {

namespace {

constexpr std::size_t name_width = 28;

/// "  -o,--output FILE", padded to the column of the description.
std::string left_of(const OptionText& option) {
  std::string left = "  " + (option.letter.empty() ? "" : option.letter + ",") + option.shown_name();
  if (option.takes_value()) left += (option.takes_value_after_equals() ? "" : " ") + option.value;
  if (left.size() < name_width)
    left.resize(name_width, ' ');
  else
    left += "\n" + std::string(name_width, ' ');
  return left;
}

std::string option_text(const OptionText& option, std::size_t width) {
  std::string text = option.help;
  if (option.positional() && option.value.starts_with("{")) text += " " + option.value;
  if (!option.range.empty()) text += " [" + option.range + "]";
  const bool says_default = text.find("(default") != std::string::npos;
  if (option.takes_value() && !says_default && !option.standard.empty()) text += " (default " + option.standard + ")";
  return left_of(option) + wrapped(text, name_width, width) + "\n";
}

std::string brief_text(const OptionText& option, std::size_t width) {
  return left_of(option) + wrapped(option.in_brief(), name_width, width) + "\n";
}

std::string usage(const Options& options, std::string_view summary) {
  std::string text = std::string(summary) + "\n\nUsage: chargpt " + options.command();
  for (const auto& option : options.all()) {
    const OptionText& argument = option->text();
    if (!argument.positional()) continue;
    const std::string word = argument.name + (argument.several ? "..." : "");
    text += argument.required ? " " + word : " [" + word + "]";
  }
  return text + " [OPTIONS]\n";
}

/// Groups in the order of their first options; those of every command and of a config come last.
std::vector<std::string> groups_of(const Options& options) {
  std::vector<std::string> groups;
  for (const auto& option : options.all())
    if (std::ranges::count(groups, option->text().group) == 0) groups.push_back(option->text().group);
  std::ranges::stable_sort(groups, {}, [](const std::string& group) {
    return group.starts_with(config_groups) ? 2 : group == output_group ? 1 : 0;
  });
  return groups;
}

}  // namespace

std::size_t help_width() {
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  return columns == 0 ? 100 : std::clamp<std::size_t>(columns, 60, 120);
}

std::string full_help(const Options& options, std::string_view summary, std::string_view example) {
  const std::size_t width = help_width();
  std::string text = usage(options, summary) + "\n";
  if (const std::string defaults = options.help_defaults(); !defaults.empty())
    text += wrapped(defaults, 0, width) + "\n\n";
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
  return text + wrapped_lines("\nExample: " + std::string(example), width);
}

std::string short_help(const Options& options, std::string_view summary, std::string_view example) {
  constexpr int most = 12;
  const std::size_t width = help_width();
  std::string text = usage(options, summary) + wrapped_lines("Example: " + std::string(example), width) + "\n";
  for (const auto& option : options.all())
    if (option->text().positional()) text += brief_text(option->text(), width);
  int shown = 0, all = 0;
  for (const std::string& group : groups_of(options))
    for (const auto& option : options.all()) {
      const OptionText& one = option->text();
      if (one.positional() || one.hidden || one.group != group || one.name == "--help") continue;
      if (++all <= most && !group.starts_with(config_groups)) text += brief_text(one, width), ++shown;
    }
  const std::string what = shown < all ? "all " + std::to_string(all) + " options" : "the options";
  const std::string more = what + " with ranges and defaults: chargpt " + options.command() + " --help";
  return text + "\n" + wrapped(more, 0, width) + "\n";
}

}  // namespace chargpt
