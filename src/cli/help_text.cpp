#include "cli/help_text.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <vector>

#include "cli/process.h"
#include "report/symbols.h"

namespace chargpt {

namespace {

constexpr std::size_t name_width = 28;

/// Of the terminal that stdout is; 100 where it is none.
std::size_t line_width() {
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  return columns == 0 ? 100 : std::clamp<std::size_t>(columns, 60, 120);
}

/// `text` broken between words, from column `indent` to `width`.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string lines, word;
  std::size_t used = indent;
  std::istringstream words(text);
  bool first_of_line = true;
  while (words >> word) {
    if (!first_of_line && used + 1 + display_width(word) > width) {
      lines += "\n" + std::string(indent, ' ');
      used = indent;
      first_of_line = true;
    }
    lines += (first_of_line ? "" : " ") + word;
    used += display_width(word) + (first_of_line ? 0 : 1);
    first_of_line = false;
  }
  return lines + "\n";
}

/// "INT", "{auto,always,never}": what stands for a value. CLI11's type is "INT:POSITIVE:INT in [1 - 9]", its checks
/// after colons.
std::string value_name(const std::string& type) {
  const std::size_t choice = type.find('{');
  return choice == std::string::npos ? type.substr(0, type.find(':'))
                                     : type.substr(choice, type.find('}') + 1 - choice);
}

/// "1 to 9", "above 0": the range in such a type; empty where there is none.
std::string range_in(const std::string& type) {
  if (type.find(":POSITIVE") != std::string::npos) return "above 0";
  if (type.find(":NONNEGATIVE") != std::string::npos) return "at least 0";
  const std::size_t begin = type.find('['), dash = type.find(" - "), end = type.find(']');
  if (begin == std::string::npos || dash == std::string::npos || end == std::string::npos) return "";
  return type.substr(begin + 1, dash - begin - 1) + " to " + type.substr(dash + 3, end - dash - 3);
}

std::string option_text(const CLI::Option& option, std::size_t width) {
  const bool positional = option.get_positional(), takes_value = !positional && option.get_type_size() != 0;
  const std::string type = option.get_type_name(), range = range_in(type), choice = value_name(type);
  std::string left = "  " + option.get_name(positional, true);
  if (takes_value) left += " " + choice;
  if (left.size() < name_width)
    left.resize(name_width, ' ');
  else
    left += "\n" + std::string(name_width, ' ');
  std::string text = option.get_description();
  if (positional && choice.starts_with("{")) text += " " + choice;
  if (!range.empty()) text += " [" + range + "]";
  const bool says_default = text.find("(default") != std::string::npos;
  if (takes_value && !says_default && !option.get_default_str().empty())
    text += " (default " + option.get_default_str() + ")";
  return left + wrapped(text, name_width, width);
}

std::string usage(const CLI::App& app, const std::string& name) {
  std::string line = "Usage: " + name;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string word = option->get_name(true) + (option->get_expected_max() > 1 ? "..." : "");
    line += option->get_required() ? " " + word : " [" + word + "]";
  }
  return line + " [OPTIONS]\n";
}

}  // namespace

std::string HelpText::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode /*mode*/) const {
  const std::size_t width = line_width();
  std::string text = app->get_description() + "\n\n" + usage(*app, name) + "\n";
  for (const CLI::Option* option : app->get_options())
    if (option->get_positional()) text += option_text(*option, width);
  for (const std::string& group : app->get_groups()) {
    if (group.empty()) continue;
    std::string options;
    for (const CLI::Option* option : app->get_options())
      if (option->nonpositional() && option->get_group() == group) options += option_text(*option, width);
    if (!options.empty()) text += "\n" + group + ":\n" + options;
  }
  return text + "\n" + app->get_footer() + "\n";
}

}  // namespace chargpt
