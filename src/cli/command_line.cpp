#include "cli/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/help_text.h"
#include "cli/options.h"
#include "cli/print_text.h"
#include "cli/process.h"
#include "cli/version.h"
#include "report/log.h"

namespace chargpt {

namespace {

void run(std::vector<std::string> arguments) {
  if (arguments.size() > 1 && arguments[0] == "help") arguments = {arguments[1], "--help"};
  const std::string first = arguments.empty() ? "help" : arguments[0];
  if (first == "--help" || first == "-h" || first == "help") return write_output(overview());
  if (first == "--version" || first == "-V") return write_output(version_text());
  if (first == "complete") return print_candidates({arguments.begin() + 1, arguments.end()});
  const Command& command = find_command(arguments[0]);
  const std::unique_ptr<Options> options = options_of(command);
  if (options->parse({arguments.begin() + 1, arguments.end()})) return options->run();
  const HelpText help{command.summary, command.example};
  const bool in_short = std::ranges::count(arguments, "--help") == 0;
  write_output(in_short ? short_help(*options, help) : full_help(*options, help));
}

}  // namespace

int run_command_line(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto given = [&](const char* flag) { return std::ranges::count(arguments, flag) > 0; };
  start_log(LogLevel::normal, /*color=*/false,
            terminal_columns(STDERR_FILENO));  // for what is said before options are read
  prepare_for_failures({.verbose = given("--verbose"), .json = given("--json")});
  // A limit on file size (ulimit -f) is then an error of write(), EFBIG, in place of a signal that ends the process
  // between a temporary file and its name.
  std::signal(SIGXFSZ, SIG_IGN);
  end_with_parent();
  try {
    run(arguments);
    return finish_output();
  } catch (const AnsweredNo&) {
    const int failed = finish_output();
    return failed != 0 ? failed : 1;
  } catch (const Stopped& stopped) {
    return 128 + stopped.signal;
  } catch (const Interrupted&) {
    log_note("stopped before anything began; nothing was changed");
    return 128 + stopping_signal();
  } catch (const std::exception& error) {
    return report_failure(error);
  }
}

}  // namespace chargpt
