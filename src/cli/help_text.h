// The text of `chargpt COMMAND --help`, wrapped to the terminal. Knows no command.
#pragma once

#include <CLI/FormatterFwd.hpp>
#include <string>

namespace chargpt {

class HelpText final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace chargpt
