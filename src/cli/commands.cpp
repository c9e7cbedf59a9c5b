#include "cli/commands.h"

#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "cli/options.h"
#include "report/terminal.h"

namespace chargpt {

namespace {

constexpr Command table[] = {
    {"train", "Train", "train a model from a config or a preset", "chargpt train --text my.txt --minutes 1", add_train},
    {"resume", "Train", "continue a run exactly where it stopped", "chargpt resume runs/default-1", add_resume},
    {"compare", "Train", "train several configs with several seeds and rank them",
     "chargpt compare bigram masked --seeds 2 --max-iters 300", add_compare},
    {"tune", "Train", "search for a better config within time and memory limits", "chargpt tune default --minutes 10",
     add_tune},
    {"sample", "Use", "write text with a trained model", "chargpt sample default-1 --prompt 'ROMEO:' --tokens 300",
     add_sample},
    {"export", "Use", "write a model in another program's format",
     "chargpt export default-1 --format huggingface --out model", add_export},
    {"import", "Use", "make a run from another program's model", "chargpt import model --run runs/imported",
     add_import},
    {"eval", "Measure", "measure the exact loss of a split, beside baselines", "chargpt eval runs/default-1", add_eval},
    {"reproduce", "Measure", "train a run again and tell whether it comes out the same",
     "chargpt reproduce runs/default-1", add_reproduce},
    {"audit", "Measure", "tell whether a model recites its training text", "chargpt audit runs/default-1", add_audit},
    {"bench", "Measure", "measure the speed of a training step or of sampling",
     "chargpt bench train nanogpt-cpu, or chargpt bench sample runs/default-1", add_bench},
    {"score", "Look", "colour a text by how much each character surprises a model",
     "chargpt score runs/default-1 my.txt", add_score},
    {"explain", "Look", "walk one text through a model, operation by operation",
     "chargpt explain runs/default-1 --prompt 'First Cit'", add_explain},
    {"attention", "Look", "show which characters each head looks at",
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
    {"manual", "Install", "print the manual page of a command, or of the program",
     "chargpt manual train > chargpt-train.1", add_manual},
};

}  // namespace

std::span<const Command> commands() {
  return table;
}

std::string overview(std::size_t width) {
  std::string text = "train, sample and compare character-level language models\n\nUsage: chargpt COMMAND [ARGS]\n";
  std::string_view group;
  for (const Command& command : commands()) {
    if (command.group != group) text += "\n" + std::string(command.group) + "\n";
    group = command.group;
    constexpr std::size_t indent = 15;
    std::string name = "  " + std::string(command.name);
    name.resize(indent, ' ');
    text += name + wrapped(std::string(command.summary), indent, width);
  }
  return text +
         "\nchargpt help COMMAND   every option of a command\nchargpt --version      version, and LibTorch's\n\n"
         "First steps:\n→ chargpt train\n→ chargpt sample\n";
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  throw Error(ExitCode::usage, "unknown command '", name, "'",
              did_you_mean(name, names, "; chargpt --help lists them"));
}

std::unique_ptr<Options> options_of(const Command& command) {
  auto options = std::make_unique<Options>(std::string(command.name));
  command.add(*options);
  return options;
}

}  // namespace chargpt
