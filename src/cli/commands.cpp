#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/heartbeat.h"
#include "base/names.h"
#include "cli/failure.h"
#include "cli/help_text.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/process.h"
#include "report/log.h"
#include "report/terminal.h"

namespace chargpt {
namespace {

constexpr Command table[] = {
    {"train", "Train", "train a model from a config or a preset", "chargpt train --text my.txt --minutes 1", add_train},
    {"resume", "Train", "continue a run exactly where it stopped", "chargpt resume runs/default-1", add_resume},
    {"compare", "Train", "train several configs with several seeds and rank them",
     "chargpt compare bigram masked --seeds 2 --max-iters 300", add_compare},
    {"sample", "Use", "write text with a trained model", "chargpt sample default-1 --prompt 'ROMEO:' --tokens 300",
     add_sample},
    {"export", "Use", "write a model in another program's format",
     "chargpt export default-1 --format huggingface --out model", add_export},
    {"import", "Use", "make a run from another program's model", "chargpt import model --run runs/imported",
     add_import},
    {"eval", "Measure", "measure the exact loss of a split, beside baselines", "chargpt eval runs/default-1", add_eval},
    {"reproduce", "Measure", "train a run again and check that the result is the same",
     "chargpt reproduce runs/default-1", add_reproduce},
    {"audit", "Measure", "check whether a model recites its training text", "chargpt audit runs/default-1", add_audit},
    {"bench", "Measure", "measure the speed of a training step or of sampling",
     "chargpt bench train nanogpt-cpu, or chargpt bench sample runs/default-1", add_bench},
    {"score", "Look", "colour a text by how much each character surprises a model",
     "chargpt score runs/default-1 my.txt", add_score},
    {"explain", "Look", "walk one text through a model, operation by operation",
     "chargpt explain runs/default-1 --prompt 'First Cit'", add_explain},
    {"attention", "Look", "show which characters each head attends to",
     "chargpt attention runs/default-1 --prompt 'First Citizen:'", add_attention},
    {"page", "Look", "write one web page of runs, with their model in it", "chargpt page runs/default-1", add_page},
    {"watch", "Look", "draw the curves of a run in the terminal while it trains", "chargpt watch runs/default-1",
     add_watch},
    {"runs", "Look", "list the runs of a folder", "chargpt runs", add_runs},
    {"inspect", "Look", "describe a run, checkpoint, config or text, or compare two",
     "chargpt inspect nanogpt-cpu, or chargpt inspect runs/default-1 runs/default-2", add_inspect},
    {"configs", "Look", "list the presets, or print the schema of a config", "chargpt configs --schema", add_configs},
    {"doctor", "Look", "report what this machine offers, and how to fix problems", "chargpt doctor", add_doctor},
    {"completions", "Install", "print completions for bash, zsh or fish",
     "chargpt completions bash > ~/.local/share/bash-completion/completions/chargpt", add_completions},
};

/// The text of `chargpt --help`.
std::string overview() {
  std::string text = "train, sample and compare character-level language models\n\nUsage: chargpt COMMAND [ARGS]\n";
  std::string_view group;
  for (const Command& command : table) {
    if (command.group != group) text += "\n" + std::string(command.group) + "\n";
    group = command.group;
    constexpr std::size_t indent = 15;
    std::string name = "  " + std::string(command.name);
    name.resize(indent, ' ');
    text += name + wrapped(std::string(command.summary), indent, help_width()) + "\n";
  }
  return text +
         "\nchargpt help COMMAND   every option of a command\nchargpt --version      version, and LibTorch's\n\n"
         "First steps:\n→ chargpt train\n→ chargpt sample\n";
}

void run(std::vector<std::string> arguments) {
  if (arguments.size() > 1 && arguments[0] == "help") arguments = {arguments[1], "--help"};
  const std::string first = arguments.empty() ? "help" : arguments[0];
  if (first == "--help" || first == "-h" || first == "help") return write_output(overview());
  if (first == "--version" || first == "-V") return write_output(version_text());
  if (first == "complete") return print_candidates({arguments.begin() + 1, arguments.end()});
  const Command& command = find_command(arguments[0]);
  const std::unique_ptr<Options> options = options_of(command);
  if (options->parse({arguments.begin() + 1, arguments.end()})) return options->run();
  const auto help = std::ranges::count(arguments, "--help") == 0 ? short_help : full_help;
  write_output(help(*options, command.summary, command.example));
}

}  // namespace

std::span<const Command> commands() {
  return table;
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  static constexpr std::pair<std::string_view, std::string_view> words_of_others[] = {
      {"generate", "sample"}, {"predict", "sample"},  {"evaluate", "eval"},
      {"test", "eval"},       {"continue", "resume"}, {"list", "runs"}};
  for (const auto& [other, ours] : words_of_others)
    if (name == other) throw Error(ExitCode::usage, "unknown command '", name, "'; did you mean ", ours, "?");
  throw Error(ExitCode::usage, "unknown command '", name, "'",
              did_you_mean(name, names, "; chargpt --help lists them"));
}

std::unique_ptr<Options> options_of(const Command& command) {
  auto options = std::make_unique<Options>(std::string(command.name));
  command.add(*options);
  return options;
}

int run_command_line(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto given = [&](const char* flag) { return std::ranges::count(arguments, flag) > 0; };
  start_log(/*quiet=*/false, /*color=*/false, terminal_columns(STDERR_FILENO));  // until options are parsed
  prepare_for_failures();
  failure_form = {.verbose = given("--verbose"), .json = given("--json")};
  // A limit on file size (ulimit -f) then makes write() fail with EFBIG, instead of a signal that ends the process
  // between writing and renaming a temporary file.
  std::signal(SIGXFSZ, SIG_IGN);
  end_with_parent();
  try {
    run(arguments);
    flush_text();
    return 0;
  } catch (const AnsweredNo&) {
    return 1;
  } catch (const Stopped& stopped) {
    return 128 + stopped.signal;
  } catch (const Interrupted&) {
    log_note("stopped before the work began; nothing was changed");
    return 128 + stopping_signal();
  } catch (const std::exception& error) {
    return report_failure(error);
  }
}

}  // namespace chargpt
