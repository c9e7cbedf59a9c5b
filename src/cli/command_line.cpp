#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/help_text.h"
#include "cli/process.h"
#include "cli/version.h"

namespace chargpt {

namespace {

/// `--top-k` and `--top_k` are one option: spells each long option as it was declared.
std::string declared_spelling(const CLI::App& app, const std::string& argument) {
  if (argument.size() < 3 || !argument.starts_with("--")) return argument;
  const auto fold = [](std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
  };
  const std::size_t end = std::min(argument.find('='), argument.size());
  const std::string name = argument.substr(2, end - 2);
  for (const CLI::Option* option : app.get_options())
    for (const std::string& declared : option->get_lnames())
      if (fold(declared) == fold(name)) return "--" + declared + argument.substr(end);
  return argument;
}

std::vector<std::string> long_option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// What CLI11 could not place: an unknown option (with the nearest known one) or a surplus word.
[[noreturn]] void refuse_extra(const CLI::App& app, const std::string& extra) {
  const std::string command = "chargpt " + app.get_name();
  if (!extra.starts_with("-"))
    throw Error(ExitCode::usage, "'" + extra + "' is one argument too many; see " + command + " --help");
  const std::string name = extra.substr(0, extra.find('='));
  const auto nearest = nearest_name(name, long_option_names(app));
  throw Error(ExitCode::usage, "unknown option " + name +
                                   (nearest ? "; did you mean " + *nearest + "?" : "; see " + command + " --help"));
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  const auto nearest = nearest_name(name, names);
  throw Error(ExitCode::usage, "unknown command '" + name + "'" +
                                   (nearest ? "; did you mean " + *nearest + "?" : "; chargpt --help lists them"));
}

std::string overview() {
  std::string text =
      "chargpt: train, sample and compare character-level language models\n\nUsage: chargpt COMMAND [ARGS]\n";
  std::string_view group;
  for (const Command& command : commands()) {
    if (command.group != group) text += "\n" + std::string(command.group) + "\n";
    group = command.group;
    std::string name(command.name);
    name.resize(10, ' ');
    text += "  " + name + std::string(command.summary) + "\n";
  }
  return text +
         "\nchargpt COMMAND --help   every option of a command\nchargpt --version        versions and devices\n\n"
         "First steps: chargpt train, then chargpt sample runs/default-1\n";
}

void write_out(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) throw Error(ExitCode::usage, "no command given; chargpt --help lists them");
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") return write_out(overview());
  if (arguments[0] == "--version") return write_out(version_text());
  const Command& command = find_command(arguments[0]);
  CLI::App app(std::string(command.summary), std::string(command.name));
  app.allow_extras();
  app.footer("Example: " + std::string(command.example));
  app.formatter(std::make_shared<HelpText>());
  app.option_defaults()->always_capture_default();
  command.add(app);
  // CLI11 takes its arguments last first.
  std::vector<std::string> rest;
  for (auto argument = arguments.rbegin(); argument + 1 != arguments.rend(); ++argument)
    rest.push_back(declared_spelling(app, *argument));
  app.parse_complete_callback([&app] {
    if (const auto extras = app.remaining(); !extras.empty()) refuse_extra(app, extras.front());
  });
  try {
    app.parse(rest);
  } catch (const CLI::CallForHelp&) {
    write_out(app.help("chargpt"));
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::usage, std::string(error.what()) + "; see chargpt " + app.get_name() + " --help");
  }
}

}  // namespace

int run_command_line(int argc, char** argv) {
  end_with_parent();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool verbose = std::find(arguments.begin(), arguments.end(), "--verbose") != arguments.end();
  try {
    run(arguments);
    return finish_output();
  } catch (const Stopped& stopped) {
    return 128 + stopped.signal;
  } catch (const std::exception& error) {
    return report_failure(error, verbose);
  }
}

}  // namespace chargpt
