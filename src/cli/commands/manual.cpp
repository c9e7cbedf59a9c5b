// `chargpt manual [COMMAND]`: the manual page of a command, or of the program, as man reads it; made from the same
// declarations as --help.
#include <algorithm>
#include <memory>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/print_text.h"
#include "cli/version.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  std::string command;
};

/// Text that roff shows as it is; a line must not begin with what roff obeys.
std::string escaped(const std::string& text) {
  std::string all;
  for (const char c : text) {
    if (c == '\\')
      all += "\\(rs";
    else if (c == '-')
      all += "\\-";
    else if (c == '\'')
      all += "\\(aq";
    else
      all += c;
  }
  return all.starts_with('.') ? "\\&" + all : all;
}

std::string heading(const std::string& name) {
  const std::string version = program_version();
  return ".TH " + name + " 1 \"\" \"chargpt " + version.substr(0, version.find(' ')) + "\" \"chargpt\"\n";
}

std::string described(const OptionText& option) {
  std::string text = ".TP\n.B " + escaped(option.shown_name());
  std::ranges::replace(text, '_', '-');
  if (!option.letter.empty()) text += ", " + escaped(option.letter);
  if (!option.positional() && !option.value.empty()) text += " \\fI" + escaped(option.value) + "\\fR";
  text += "\n" + escaped(option.help);
  if (!option.range.empty()) text += " [" + escaped(option.range) + "]";
  if (!option.standard.empty() && option.help.find("(default") == std::string::npos)
    text += " (default " + escaped(option.standard) + ")";
  return text + "\n";
}

std::string page_of(const Command& command) {
  const std::string name(command.name);
  std::string text = heading("CHARGPT\\-" + name) + ".SH NAME\nchargpt\\-" + name + " \\- " +
                     escaped(std::string(command.summary)) + "\n.SH SYNOPSIS\n.B chargpt " + name + "\n";
  const std::unique_ptr<Options> options = options_of(command);
  std::string groups;
  if (options) {
    for (const auto& option : options->all())
      if (option->text().positional())
        text += (option->text().required ? option->text().name : "[" + option->text().name + "]") + "\n";
    std::vector<std::string> seen;
    for (const auto& option : options->all()) {
      const std::string& group = option->text().group;
      if (option->text().hidden || std::ranges::count(seen, group) > 0) continue;
      seen.push_back(group);
      groups += ".SH " + escaped(group) + "\n";
      for (const auto& other : options->all())
        if (!other->text().hidden && other->text().group == group) groups += described(other->text());
    }
  }
  text += "[options]\n" + groups;
  return text + ".SH EXAMPLE\n.EX\n" + escaped(std::string(command.example)) + "\n.EE\n.SH SEE ALSO\n.BR chargpt (1)\n";
}

std::string page_of_program() {
  std::string text = heading("CHARGPT") +
                     ".SH NAME\nchargpt \\- train, sample and compare character\\-level language models\n"
                     ".SH SYNOPSIS\n.B chargpt\ncommand [arguments]\n.SH COMMANDS\n";
  for (const Command& command : commands())
    text += ".TP\n.BR chargpt\\-" + std::string(command.name) + " (1)\n" + escaped(std::string(command.summary)) + "\n";
  return text +
         ".SH EXIT STATUS\n0 done; 2 usage; 65 data; 66 an input is not there; 69 a device or LibTorch is not there; "
         "70 a bug; "
         "74 input or output failed; 75 the run folder is in use; 80 training diverged; 81 out of memory; 128 + N "
         "stopped by signal N\n";
}

void run_manual(const Arguments& arguments) {
  if (arguments.command.empty()) return print_text(page_of_program());
  print_text(page_of(find_command(arguments.command)));
}

}  // namespace

void add_manual(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  options.add("COMMAND", arguments->command, "whose page; left out: the program's");
  add_output_arguments(options, arguments->output, nullptr);
  on_parsed(options, arguments, run_manual);
}

}  // namespace chargpt
