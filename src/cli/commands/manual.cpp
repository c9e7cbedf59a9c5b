// `chargpt manual [COMMAND]`: the text of --help, or the list of commands, as a page for man.
#include <memory>
#include <string>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/print_text.h"
#include "cli/version.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  std::string command;
};

/// Lines that roff sets as they are: none begins with what it obeys.
std::string literal(const std::string& text) {
  std::string all = "\\&";
  for (const char c : text) {
    if (c == '\\' || c == '-') all += '\\';
    all += c == '\\' ? 'e' : c;
    if (c == '\n') all += "\\&";
  }
  return all + "\n";
}

void run_manual(const Arguments& arguments) {
  constexpr std::size_t width = 72;  // with man's indent in 80 columns
  const bool whole = arguments.command.empty();
  const Command* const command = whole ? nullptr : &find_command(arguments.command);
  const std::unique_ptr<Options> options = whole ? nullptr : options_of(*command);
  const std::string name = whole ? "chargpt" : "chargpt-" + arguments.command, version = program_version();
  const std::string what = whole ? "character-level language models" : std::string(command->summary);
  print_text(".TH " + name + " 1 \"\" \"chargpt " + version.substr(0, version.find(' ')) + "\"\n.SH NAME\n" + name +
             " \\- " + what + "\n.SH DESCRIPTION\n.nf\n" +
             literal(whole ? overview(width) : full_help(*options, {command->summary, command->example}, width)));
}

}  // namespace

void add_manual(Options& options) {
  Arguments& arguments = arguments_for(options, run_manual);
  options.add("COMMAND", arguments.command, "a command; default: all of chargpt");
  add_output_arguments(options, arguments.output, nullptr);
}

}  // namespace chargpt
