#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "config/accept.h"
#include "config/refused.h"

namespace chargpt {

namespace {

constexpr double largest = std::numeric_limits<double>::max();

std::string whole(double limit) {
  return std::to_string(std::llround(limit));
}

std::string shown(const std::string& given) {
  return given.empty() ? "an empty value" : printable(given);
}

/// "a whole number from 0 to 4096", "one of train, val, all", "KEY=VALUE": the values of an option; empty: any text.
std::string taken_by(const Option& option) {
  const OptionText& text = option.text();
  const bool is_limited = text.range.find(" to ") != std::string::npos;
  if (text.value == "INT") return in_range("a whole number", text.range) + (is_limited ? "" : ", below 2^63");
  if (text.value == "FLOAT") return in_range("a number", text.range);
  if (!option.choices().empty()) return "one of " + joined(option.choices(), ", ");
  if (text.takes_value_after_equals()) return text.shown_name() + text.value;
  return text.value == "TEXT" || text.value == "VALUE" ? "" : text.value;
}

/// CLI11 splits an argument "[a,b]" if several may be given, but here each is a path. The mark prevents that.
constexpr char mark = '\x1F';

std::string marked(const std::string& argument) {
  return argument.starts_with('[') ? mark + argument : argument;
}

std::string unmarked(const std::string& argument) {
  return argument.starts_with(mark) ? argument.substr(1) : argument;
}

/// CLI11 would read a leading zero as the mark of an octal number.
std::string decimal(const std::string& given) {
  const auto number = parsed_number<std::int64_t>(given);
  return number ? std::to_string(*number) : given;
}

Error surplus(const std::string& argument, const std::string& see) {
  return Error(ExitCode::usage, "'", argument, "' is one argument too many", see);
}

/// "--max_iters" -> "--max-iters"
std::string folded(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

/// Our options for another program's option `flag`, as a hint; "" if unknown.
std::string said_here(const std::string& flag) {
  std::string key = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  std::ranges::replace(key, '-', '_');
  std::string said = replacement_of(key);
  if (said.find("--" + key) != std::string::npos) return "";  // an option of another command
  for (const std::string section : {"data", "model", "train", "eval", "sample"})
    for (std::size_t at = said.find(section + "."); at != std::string::npos; at = said.find(section + ".", at))
      said.replace(at, section.size() + 1, "--");
  return said;
}

}  // namespace

std::string OptionText::shown_name() const {
  return folded(name);
}

std::string OptionText::in_brief() const {
  const auto colon = help.find(": ");
  const std::string_view before = std::string_view(help).substr(0, colon);
  const bool is_condition = colon != help.npos && (before.find(' ') == before.npos || before.starts_with("with ") ||
                                                   before.starts_with("of "));
  std::size_t end = help.size();
  for (const char* mark : {": ", "; ", " (", " ["}) end = std::min(end, help.find(mark, is_condition ? colon + 1 : 0));
  return help.substr(0, end);
}

Option& Option::required() {
  parsed_.required();
  return set(text_.required, true);
}

Option& Option::range(double least, double most) {
  least_ = least;
  most_ = most;
  text_.range = most < largest ? whole(least) + " to " + whole(most) : "at least " + whole(least);
  return *this;
}

Option& Option::positive(double most) {
  least_ = std::numeric_limits<double>::denorm_min();
  most_ = most;
  return set(text_.range, "above 0" + (most < largest ? " and at most " + whole(most) : ""));
}

Option& Option::one_of(const std::vector<std::string>& values) {
  parsed_.check([values](const std::string& given) -> std::string {
    if (std::ranges::count(values, given) > 0) return "";
    return shown(given) + " is not one of " + joined(values, ", ") + did_you_mean(given, values);
  });
  choices_ = values;
  text_.value = "{" + joined(values, ",") + "}";
  return *this;
}

Option& Option::excludes(const Option& other) {
  parsed_.excludes(&other.parsed_);
  return *this;
}

Option& Option::stands_for(std::string (*meant)(const std::string& given)) {
  parsed_.transform([meant](const std::string& given) { return given.empty() ? given : meant(unmarked(given)); });
  return *this;
}

bool Option::given() const {
  return parsed_.count() > 0;
}

const std::vector<std::string>& Option::values() const {
  return parsed_.results();
}

template <class Value>
std::string Option::refusal(const std::string& given) const {
  const std::optional<Value> value = parsed_number<Value>(given);
  const double number = value ? static_cast<double>(*value) : std::nan("");
  return number >= least_ && number <= most_ ? "" : shown(given) + " must be " + taken_by(*this);
}

std::string Option::refusal_of_text(const std::string& given) const {
  const bool is_to_write = text_.value == "DIR" || text_.value == "FILE" || text_.value == "PATH";
  if (given == "-" && is_to_write)
    return "- is not a name, because elsewhere it means standard input; give another one, such as ./-";
  if (!given.empty() || may_be_empty_) return "";
  const std::string taken = taken_by(*this);
  return "an empty value is not understood; it takes " + (taken.empty() ? "text" : taken);
}

Options::Options(const std::string& command) : command_(command), app_(std::make_unique<CLI::App>("", command)) {
  app_->allow_extras();
  app_->option_defaults()->always_capture_default();
  CLI::Option& help = *app_->get_help_ptr();
  keep(help, {.name = "--help", .letter = "-h", .help = "print this help and exit"});
}

Options::~Options() = default;

Option& Options::keep(CLI::Option& parsed, OptionText text) {
  all_.push_back(std::unique_ptr<Option>(new Option(parsed, std::move(text))));
  return *all_.back();
}

template <class Value>
Option& Options::add(const std::string& name, Value& value, const std::string& help) {
  CLI::Option& parsed = *app_->add_option(name, value);
  const std::size_t comma = name.find(',');
  const bool has_letter = comma != std::string::npos;
  Option& option = keep(parsed, {.name = has_letter ? name.substr(comma + 1) : name,
                                 .letter = has_letter ? name.substr(0, comma) : "",
                                 .value = parsed.get_type_name(),
                                 .standard = parsed.get_default_str(),
                                 .help = help});
  parsed.transform(unmarked);
  if constexpr (std::is_integral_v<Value>) parsed.transform(decimal);
  if constexpr (std::is_arithmetic_v<Value>)
    parsed.check([&option](const std::string& given) { return option.refusal<Value>(given); });
  else if (std::is_same_v<Value, std::string>)
    parsed.check([&option](const std::string& given) { return option.refusal_of_text(given); });
  return option;
}

template Option& Options::add(const std::string& name, std::string& value, const std::string& help);
template Option& Options::add(const std::string& name, std::int64_t& value, const std::string& help);
template Option& Options::add(const std::string& name, double& value, const std::string& help);

Option& Options::flag(const std::string& name, bool& value, const std::string& help) {
  return keep(*app_->add_flag(name, value), {.name = name, .help = help});
}

Option& Options::add(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  Option& option = add<std::vector<std::string>>(name, values, help).default_text("");
  option.takes_several_ = true;
  option.text_.several = option.text_.positional();
  if (!option.text_.several)  // without the last, the words after its value would be taken too, and "[a,b]" split
    option.parsed_.take_all()->expected(1)->allow_extra_args(false);
  return option;
}

Option& Options::choice(const std::string& name, const std::vector<std::string>& names, const std::string& standard,
                        std::function<void(const std::string& name)> set, const std::string& help) {
  return keep(*app_->add_option_function<std::string>(name, set), {.name = name, .standard = standard, .help = help})
      .one_of(names);
}

Option& Options::find(const std::string& name) const {
  return **std::ranges::find(all_, name, [](const auto& option) { return option->name(); });
}

const Option* Options::meant_by(const std::string& argument) const {
  if (argument.size() < 3 || !argument.starts_with("--")) return nullptr;
  const std::string name = folded(argument.substr(0, argument.find('=')));
  for (const auto& option : all_)
    if (!option->text().positional() && folded(option->name()) == name) return option.get();
  return nullptr;
}

/// Needed because CLI11 drops empty words if several may be given.
void Options::refuse_empty_argument() const {
  std::vector<std::string> names;
  for (const auto& option : all_)
    if (option->text().positional()) names.push_back(option->name());
  throw Error(ExitCode::usage, "an empty argument is given in the place of ",
              names.empty() ? "an option" : joined(names, " or "), "; see chargpt ", command_, " --help");
}

/// The words for CLI11: options spelled as declared; an empty value (`--prompt=`) as a separate word, or CLI11 would
/// take the next one; an option of several words repeated before each of them; and marks on arguments that CLI11 would
/// take for lists.
std::vector<std::string> Options::words_of(const std::vector<std::string>& arguments) const {
  std::vector<std::string> words;
  bool only_arguments = false;  // after "--"
  for (auto next = arguments.begin(); next != arguments.end();) {
    const std::string argument = *next++;
    const Option* const option = only_arguments ? nullptr : meant_by(argument);
    if (option == nullptr) {
      if (argument.empty()) refuse_empty_argument();
      only_arguments = only_arguments || argument == "--";
      words.push_back(marked(argument));
      continue;
    }
    const std::string value = argument.substr(std::min(argument.find('='), argument.size()));
    const bool takes_value = !option->text().value.empty(), is_empty = takes_value && value == "=";
    words.push_back(option->name() + (is_empty ? "" : value));
    if (is_empty) words.emplace_back();
    if (!takes_value || !value.empty()) continue;
    const bool stands_alone = next == arguments.end() || std::ranges::count(option->choices_, *next) == 0;
    if (stands_alone && !option->alone_.empty())
      words.push_back(option->alone_);
    else if (next != arguments.end() && *next != "--")
      words.push_back(*next++);
    while (option->text().words && next != arguments.end() && (!next->starts_with("-") || *next == "-"))
      words.insert(words.end(), {option->name(), *next++});
  }
  return words;
}

/// Refuses an argument that CLI11 did not accept: an unknown option (with the nearest known one) or a surplus word.
void Options::refuse_extra(const std::string& extra) const {
  const std::string see = "; see chargpt " + command_ + " --help";
  std::vector<std::string> known;
  for (const auto& option : all_)
    if (!option->text().positional()) known.push_back(option->name());
  if (!extra.starts_with("-"))
    throw surplus(extra, std::ranges::count(known, "--text") > 0 && is_file(extra)
                             ? "; to name a text: --text " + shell_quoted(extra)
                             : see);
  const std::string name = extra.substr(0, extra.find('='));
  if (const std::string here = said_here(name); !here.empty())
    throw Error(ExitCode::usage, "unknown option ", name, ": ", here);
  std::vector<std::string> longer;  // options that start with `name`
  for (const auto& option : all_)
    if (name.size() > 4 && !option->text().hidden && folded(option->name()).starts_with(folded(name)))
      longer.push_back(option->name());
  throw Error(ExitCode::usage, "unknown option ", name,
              longer.size() == 1 ? "; did you mean " + longer.front() + "?" : did_you_mean(name, known, see));
}

/// CLI11 keeps all values given for an option, and its own message for a second one varies.
void Options::refuse_repeated() const {
  for (const auto& option : all_)
    if (option->values().size() > 1 && !option->text().value.empty() && !option->takes_several_)
      throw Error(ExitCode::usage, option->name(), " is given twice, as ", printable(option->values()[0]), " and as ",
                  printable(option->values()[1]), "; give it once");
}

/// Replaces CLI11's message "--seed: 1 required INT missing".
void Options::refuse_wrong_count(const std::exception& refusal) const {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&refusal) == nullptr) return;
  const std::string what = refusal.what();
  for (const auto& option : all_)
    if (const std::string taken = taken_by(*option); what.starts_with(option->name() + ":"))
      throw Error(ExitCode::usage, option->name(), " needs a value", taken.empty() ? "" : ": " + taken,
                  "; see chargpt ", command_, " --help");
}

bool Options::parse(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = words_of(arguments);
  std::ranges::reverse(words);  // the order that CLI11 expects
  const std::string see = "; see chargpt " + command_ + " --help";
  try {
    app_->parse(words);
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ParseError& error) {
    refuse_repeated();
    refuse_wrong_count(error);
    const std::string what = error.what();
    throw Error(ExitCode::usage, what, what.ends_with('?') ? "" : see);
  }
  bool arguments_only = false;
  for (const std::string& extra : app_->remaining()) {
    if (arguments_only) throw surplus(extra, see);
    arguments_only = extra == "--";
    if (!arguments_only) refuse_extra(extra);
  }
  return true;
}

}  // namespace chargpt
