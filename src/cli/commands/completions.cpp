// `chargpt completions SHELL` prints a script for that shell, which calls `chargpt complete WORD…` at each Tab.
// Candidates come from the declarations of commands and options, so that nothing is listed twice.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "config/load.h"
#include "run/run_name.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  std::string shell;
};

// If chargpt has no candidates, the shell completes file names.
constexpr const char* bash = R"(# Completions of chargpt for bash.
_chargpt() {
  mapfile -t COMPREPLY < <("$1" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)
}
complete -o default -F _chargpt chargpt
)";

constexpr const char* zsh = R"(#compdef chargpt
# Completions of chargpt for zsh.
_chargpt() {
  local -a found=("${(@f)$("$words[1]" complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("${(@)found//:/\\:}")
  if [[ -n $found ]]; then _describe chargpt "${(@A)found/$'\t'/:}"; else _files; fi
}
if [ "$funcstack[1]" = _chargpt ]; then _chargpt "$@"; else compdef _chargpt chargpt; fi
)";

constexpr const char* fish = R"(# Completions of chargpt for fish.
function __chargpt
  set -l found (chargpt complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
  if set -q found[1]
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c chargpt -f -a '(__chargpt)'
)";

struct Candidate {
  std::string word, meaning{};
};

std::vector<Candidate> all_commands() {
  std::vector<Candidate> found{{"help", "every option of a command"}};
  for (const Command& command : commands()) found.push_back({std::string(command.name), std::string(command.summary)});
  return found;
}

/// Words that an option or an argument takes; empty if it takes a file or free text.
std::vector<Candidate> values_of(const Option& option) {
  std::vector<Candidate> found;
  for (const std::string& word : option.choices()) found.push_back({word});
  if (option.name() == "--checkpoint") found = {{"best"}, {"last"}};
  if (option.name() == "CONFIG")
    for (const std::string& preset : preset_names()) found.push_back({preset});
  if (option.name() == "RUN" || option.name() == "--init_from")
    for (const std::string& run : names_of_runs("runs")) found.push_back({run});
  return found;
}

std::vector<Candidate> options_in(const Options& options) {
  std::vector<Candidate> found;
  for (const auto& option : options.all())
    if (const OptionText& text = option->text(); !text.positional() && !text.hidden)
      found.push_back({text.shown_name(), text.in_brief()});
  return found;
}

/// Candidates for the last of `words`, which is still incomplete.
std::vector<Candidate> candidates(const std::vector<std::string>& words) {
  if (words.size() < 2 || (words.size() == 2 && words[0] == "help")) return all_commands();
  const std::unique_ptr<Options> options = options_of(find_command(words[0]));
  const std::string& word = words.back();
  const bool after_equals = words.size() > 2 && words.end()[-2] == "=";  // as bash splits --color=always
  const Option* const taking = options->meant_by(words.end()[after_equals ? -3 : -2]);
  if (taking != nullptr && taking->text().takes_value() && (after_equals || !taking->text().takes_value_after_equals()))
    return values_of(*taking);
  if (word.starts_with("-")) return options_in(*options);
  for (const auto& option : options->all())
    if (option->text().positional()) return values_of(*option);
  return {};
}

void run_completions(const Arguments& arguments) {
  print_text(arguments.shell == "bash" ? bash : arguments.shell == "zsh" ? zsh : fish);
}

}  // namespace

void print_candidates(const std::vector<std::string>& words) {
  std::string begun = words.empty() || words.back() == "=" ? "" : words.back();
  if (begun.starts_with("--")) std::ranges::replace(begun, '_', '-');  // an option is written either way
  for (const Candidate& one : candidates(words))
    if (one.word.starts_with(begun)) print_text(one.word + (one.meaning.empty() ? "" : "\t" + one.meaning) + "\n");
}

void add_completions(Options& options) {
  Arguments& arguments = arguments_for(options, run_completions, nullptr);
  options.add("SHELL", arguments.shell, "the shell to print completions for")
      .one_of({"bash", "zsh", "fish"})
      .required();
}

}  // namespace chargpt
