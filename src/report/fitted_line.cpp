#include "report/fitted_line.h"

#include "report/symbols.h"

namespace chargpt {

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
