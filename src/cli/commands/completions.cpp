// `chargpt completions SHELL`: what a shell needs to complete the program's commands, options and their values; made
// from their declarations, so that nothing is listed twice.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/names.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/print_text.h"
#include "config/load.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  std::string shell;
};

/// What stands for an option's value, or for a positional argument.
enum class Kind { none, words, run, config, file, other };

struct Completed {
  std::string name;  ///< "--learning-rate"; of a positional argument empty
  std::string help;
  Kind kind = Kind::none;
  std::vector<std::string> words{};
};

struct CompletedCommand {
  std::string name, summary;
  std::vector<Completed> options{};
  Completed argument{};  ///< the first positional one; Kind::none where there is none
};

/// "{a,b}" as its words.
std::vector<std::string> words_of(const std::string& value) {
  std::vector<std::string> words;
  for (std::size_t at = 1; at < value.size();) {
    const std::size_t end = value.find_first_of(",}", at);
    words.push_back(value.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Completed completed(const OptionText& option) {
  Completed one{option.positional() ? "" : option.shown_name(),
                option.help.substr(0, option.help.find_first_of(":;("))};
  while (one.help.ends_with(' ')) one.help.pop_back();
  const std::string& name = option.name;
  if (option.value.starts_with("{"))
    one.words = words_of(option.value), one.kind = Kind::words;
  else if (name == "RUN" || name == "--init_from")
    one.kind = Kind::run;
  else if (name == "CONFIG")
    one.kind = Kind::config;
  else if (name == "--checkpoint")
    one.words = {"best", "last"}, one.kind = Kind::words;
  else if (option.value == "FILE" || name == "--text" || name == "--run" || name == "--out" || option.positional() ||
           name == "--prompt-file")
    one.kind = Kind::file;
  else if (!option.value.empty())
    one.kind = Kind::other;
  return one;
}

std::vector<CompletedCommand> completed_commands() {
  std::vector<CompletedCommand> all;
  for (const Command& command : commands()) {
    CompletedCommand& one = all.emplace_back(CompletedCommand{std::string(command.name), std::string(command.summary)});
    const std::unique_ptr<Options> options = options_of(command);
    if (!options) continue;
    for (const auto& option : options->all()) {
      const OptionText& text = option->text();
      if (text.hidden) continue;
      if (!text.positional())
        one.options.push_back(completed(text));
      else if (one.argument.kind == Kind::none)
        one.argument = completed(text);
    }
  }
  return all;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return names;
}

/// Within single quotation marks.
std::string quoted(std::string text, const std::string& mark) {
  for (std::size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + mark.size()))
    text.replace(at, 1, mark);
  return "'" + text + "'";
}

// ---- bash

std::string bash_words(const Completed& one) {
  switch (one.kind) {
    case Kind::words:
      return "_chargpt_words " + quoted(joined(one.words, " "), "'\\''");
    case Kind::run:
      return "_chargpt_runs";
    case Kind::config:
      return "_chargpt_configs";
    case Kind::file:
      return "_chargpt_files";
    default:
      return ":";
  }
}

std::string bash_command(const CompletedCommand& command) {
  std::string text = "    " + command.name + ")\n      case $previous in\n", names;
  for (const Completed& option : command.options) {
    names += (names.empty() ? "" : " ") + option.name;
    if (option.kind != Kind::none) text += "        " + option.name + ") " + bash_words(option) + "; return ;;\n";
  }
  return text + "      esac\n      case $current in\n        -*) _chargpt_words " + quoted(names, "'\\''") +
         " ;;\n        *) " + bash_words(command.argument) + " ;;\n      esac ;;\n";
}

std::string bash(const std::vector<CompletedCommand>& all) {
  std::string
      names = "help",
      text =
          "# Completions of chargpt for bash; made by `chargpt completions bash`.\n"
          "_chargpt_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\"); }\n"
          "_chargpt_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); "
          "}\n"
          "_chargpt_runs() {\n"
          "  compopt -o filenames 2>/dev/null\n"
          "  mapfile -t COMPREPLY < <(compgen -d -- \"$current\"; cd ./runs 2>/dev/null && compgen -d -- "
          "\"$current\")\n"
          "}\n"
          "_chargpt_configs() {\n"
          "  mapfile -t COMPREPLY < <(compgen -W " +
          quoted(joined(preset_names(), " "), "'\\''") +
          " -- \"$current\"; compgen -f -X '!*.json' -- \"$current\"; compgen -d -S / -- \"$current\")\n"
          "}\n";
  for (const CompletedCommand& command : all) names += " " + command.name;
  text +=
      "_chargpt() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]//_/-}\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then _chargpt_words '" +
      names +
      "'; return; fi\n"
      "  case ${COMP_WORDS[1]} in\n"
      "    help) [ \"$COMP_CWORD\" -gt 2 ] || _chargpt_words '" +
      names.substr(5) + "' ;;\n";
  for (const CompletedCommand& command : all) text += bash_command(command);
  return text + "  esac\n}\ncomplete -F _chargpt chargpt\n";
}

// ---- zsh

/// A description within "[…]" of _arguments, or behind a ":".
std::string zsh_description(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_action(const Completed& one) {
  switch (one.kind) {
    case Kind::words:
      return "(" + joined(one.words, " ") + ")";
    case Kind::run:
      return "_chargpt_runs";
    case Kind::config:
      return "_chargpt_configs";
    case Kind::file:
      return "_files";
    default:
      return " ";
  }
}

std::string zsh(const std::vector<CompletedCommand>& all) {
  std::string text =
      "#compdef chargpt\n"
      "# Completions of chargpt for zsh; made by `chargpt completions zsh`.\n"
      "_chargpt_runs() { _alternative 'folders:folder:_files -/' 'runs:run:_path_files -W runs -/' }\n"
      "_chargpt_configs() { _alternative 'presets:preset:(" +
      joined(preset_names(), " ") +
      ")' 'files:file:_files -g \"*.json\"' }\n"
      "_chargpt() {\n"
      "  local -a commands=(\n";
  for (const CompletedCommand& command : all)
    text += "    " + quoted(command.name + ":" + zsh_description(command.summary), "'\\''") + "\n";
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  local command=$words[2]\n"
      "  shift words; (( CURRENT-- ))\n"
      "  case $command in\n"
      "    help) _describe command commands ;;\n";
  for (const CompletedCommand& command : all) {
    text += "    " + command.name + ") _arguments";
    for (const Completed& option : command.options)
      text += " \\\n      " + quoted(option.name + "[" + zsh_description(option.help) + "]" +
                                         (option.kind == Kind::none ? "" : ":value:" + zsh_action(option)),
                                     "'\\''");
    if (command.argument.kind != Kind::none)
      text += " \\\n      " +
              quoted("*:" + zsh_description(command.argument.help) + ":" + zsh_action(command.argument), "'\\''");
    text += " ;;\n";
  }
  return text +
         "  esac\n}\nif [ \"$funcstack[1]\" = _chargpt ]; then _chargpt \"$@\"; else compdef _chargpt chargpt; fi\n";
}

// ---- fish

std::string fish_arguments(const Completed& one) {
  switch (one.kind) {
    case Kind::words:
      return " -xa " + quoted(joined(one.words, " "), "\\'");
    case Kind::run:
      return " -xa '(__fish_complete_directories; path basename runs/*/ 2>/dev/null)'";
    case Kind::config:
      return " -xa " + quoted(joined(preset_names(), " ") + " (__fish_complete_suffix .json)", "\\'");
    case Kind::file:
      return " -rF";
    default:
      return " -x";
  }
}

std::string fish(const std::vector<CompletedCommand>& all) {
  std::string text =
                  "# Completions of chargpt for fish; made by `chargpt completions fish`.\n"
                  "complete -c chargpt -f\n",
              names;
  for (const CompletedCommand& command : all) {
    names += (names.empty() ? "" : " ") + command.name;
    text += "complete -c chargpt -n __fish_use_subcommand -a " + command.name + " -d " +
            quoted(command.summary, "\\'") + "\n";
  }
  text +=
      "complete -c chargpt -n __fish_use_subcommand -a help -d 'every option of a command'\n"
      "complete -c chargpt -n '__fish_seen_subcommand_from help' -a '" +
      names + "'\n";
  for (const CompletedCommand& command : all) {
    const std::string begin = "complete -c chargpt -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const Completed& option : command.options)
      text += begin + " -l " + option.name.substr(2) + " -d " + quoted(option.help, "\\'") +
              (option.kind == Kind::none ? "" : fish_arguments(option)) + "\n";
    if (command.argument.kind != Kind::none) text += begin + fish_arguments(command.argument) + "\n";
  }
  return text;
}

void run_completions(const Arguments& arguments) {
  const std::vector<CompletedCommand> all = completed_commands();
  print_text(arguments.shell == "bash" ? bash(all) : arguments.shell == "zsh" ? zsh(all) : fish(all));
}

}  // namespace

void add_completions(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  options.add("SHELL", arguments->shell, "the shell that is to complete").one_of({"bash", "zsh", "fish"}).required();
  add_output_arguments(options, arguments->output, nullptr);
  on_parsed(options, arguments, run_completions);
}

}  // namespace chargpt
