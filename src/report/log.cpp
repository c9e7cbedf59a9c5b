#include "report/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/quote.h"
#include "report/terminal.h"

namespace chargpt {
namespace {

using Sink = spdlog::sinks::stderr_color_sink_mt;

std::unique_ptr<spdlog::logger> make_logger(bool quiet, bool color) {
  auto sink = std::make_shared<Sink>(color ? spdlog::color_mode::always : spdlog::color_mode::never);
  auto logger = std::make_unique<spdlog::logger>("chargpt", std::move(sink));
  logger->set_pattern("chargpt: %^%v%$");
  logger->set_level(quiet ? spdlog::level::warn : spdlog::level::info);
  logger->flush_on(spdlog::level::info);
  return logger;
}

std::unique_ptr<spdlog::logger>& logger() {
  static std::unique_ptr<spdlog::logger> instance = make_logger(/*quiet=*/false, /*color=*/false);
  return instance;
}

std::size_t columns_of_terminal = 0;
bool line_is_unfinished = false;  ///< the terminal shows an unfinished progress line

}  // namespace

void start_log(bool quiet, bool color, std::size_t columns) {
  logger() = make_logger(quiet, color);
  columns_of_terminal = columns;
}

bool log_is_quiet() {
  return !logger()->should_log(spdlog::level::info);
}

void write_progress(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  line_is_unfinished = !text.empty() && text != clear_line && !text.ends_with('\n');
}

void log_line(LogLine kind, std::string_view line) {
  static constexpr std::array levels{spdlog::level::err, spdlog::level::warn, spdlog::level::info, spdlog::level::info};
  static constexpr std::array<std::string_view, levels.size()> prefixes{"error: ", "warning: ", "", "→ "};
  const spdlog::level::level_enum level = levels.at(static_cast<std::size_t>(kind));
  if (!logger()->should_log(level)) return;
  const std::string text = wrapped(std::string(prefixes.at(static_cast<std::size_t>(kind))) + printable(line, SIZE_MAX),
                                   std::string_view("chargpt: ").size(), columns_of_terminal);
  if (std::exchange(line_is_unfinished, false)) std::fwrite(clear_line.data(), 1, clear_line.size(), stderr);
  logger()->log(level, spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace chargpt
