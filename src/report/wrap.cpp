#include "report/wrap.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "report/symbols.h"

namespace chargpt {
namespace {

bool is_open(const std::string& text, char quote) {
  return std::ranges::count(text, quote) % 2 != 0;
}

/// The words of a text; what must not be broken is one: whatever stands in `...`, and a command as messages advise it,
/// "chargpt", a subcommand and its argument, then options, each with its value.
std::vector<std::string> unbroken_words(const std::string& text) {
  std::vector<std::string> words;
  int left = 0;  // words that the command, or its option, still takes
  const auto goes_on = [&left](const std::string& before, const std::string& next) {
    if (before == "chargpt") left = 2;
    if (is_open(before, '`')) return true;
    if (!before.starts_with("chargpt")) return false;
    if (is_open(before, '\'')) return true;
    if (std::string_view(";,:)").find(before.back()) != std::string_view::npos) return false;
    if (next.starts_with("-")) left = next.find('=') == std::string::npos ? 2 : 1;
    return left-- > 0;
  };
  std::istringstream stream(text);
  for (std::string word; stream >> word;)
    if (!words.empty() && goes_on(words.back(), word))
      words.back() += " " + word;
    else
      words.push_back(word);
  return words;
}

/// "[relu|gelu]" as "[relu|" and "gelu]"; a command as it is.
std::vector<std::string> alternatives(const std::string& word) {
  if (word.find(' ') != std::string::npos) return {word};
  std::vector<std::string> pieces{""};
  for (const char c : word) {
    pieces.back() += c;
    if (c == '|' || c == ',') pieces.emplace_back();
  }
  if (pieces.back().empty()) pieces.pop_back();
  return pieces;
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string lines;
  std::size_t used = indent;
  bool first_of_line = true;
  const auto add = [&](const std::string& piece, bool after_space) {
    const std::size_t space = after_space && !first_of_line ? 1 : 0;
    if (!first_of_line && width > 0 && used + space + display_width(piece) > width) {
      lines += "\n" + std::string(indent, ' ') + piece;
      used = indent + display_width(piece);
    } else {
      lines += std::string(space, ' ') + piece;
      used += space + display_width(piece);
    }
    first_of_line = false;
  };
  for (const std::string& word : unbroken_words(text)) {
    const bool too_wide = width > 0 && indent + display_width(word) > width;
    bool after_space = true;
    for (const std::string& piece : too_wide ? alternatives(word) : std::vector{word}) {
      add(piece, after_space);
      after_space = false;
    }
  }
  return lines + "\n";
}

std::string fitted(const std::string& text, std::size_t indent, std::size_t width) {
  if (width == 0 || indent + display_width(text) <= width) return text;
  std::string lines = wrapped(text, indent, width);
  lines.pop_back();
  return lines;
}

std::string wrapped_lines(const std::string& text, std::size_t width) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (width == 0 || display_width(line) <= width) {
      out += line + "\n";
    } else {
      const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
      out += std::string(indent, ' ') + wrapped(line, indent, width);
    }
  return out;
}

std::vector<std::string> forms_that_fit(const std::vector<LinePart>& parts, std::size_t columns) {
  std::vector<std::size_t> chosen(parts.size(), 0);
  const auto form = [&](std::size_t i) -> const LinePart::Form& { return parts[i].forms[chosen[i]]; };
  std::vector<std::string> texts(parts.size());
  while (true) {
    for (std::size_t i = 0; i < parts.size(); ++i) texts[i] = form(i).text;
    if (display_width(joined_parts(texts)) <= columns) return texts;
    std::size_t least = parts.size();
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (chosen[i] + 1 < parts[i].forms.size() && (least == parts.size() || form(i).worth < form(least).worth))
        least = i;
    if (least == parts.size()) return texts;
    ++chosen[least];
  }
}

std::string joined_parts(const std::vector<std::string>& parts) {
  std::string line;
  for (const std::string& part : parts)
    if (!part.empty()) line += (line.empty() ? "" : "  ") + part;
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace chargpt
