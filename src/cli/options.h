// The options of one command, parsed by CLI11. Only options.cpp includes CLI11, because its header takes longer to
// compile than the rest of a command. Independent of commands; prints nothing.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace chargpt {

/// The description of an option for `--help`.
struct OptionText {
  std::string name{};      ///< "--seed"; "RUN" for a positional argument
  std::string letter{};    ///< "-h" for --help; empty: none
  std::string value{};     ///< name of its value: "INT", "{auto,always,never}"; empty: a flag, without value;
                           ///< "[=RATE]": takes a value only after "="
  std::string range{};     ///< "1 to 9", "above 0"; empty: any
  std::string standard{};  ///< the default, as one would type it; empty: none
  std::string group = "Options";
  std::string help{};
  bool hidden = false, required = false;
  bool several = false;  ///< a positional argument that takes more than one word
  bool words = false;    ///< an option that takes all words up to the next option, each time it is given
  bool positional() const { return !name.starts_with("-"); }
  bool takes_value() const { return !positional() && !value.empty(); }
  bool takes_value_after_equals() const { return value.starts_with("[="); }
  /// The name with dashes, for display. The command line also accepts underscores, as in config keys.
  std::string shown_name() const;
  /// The first clause of the help, with its leading condition: "train: steps measured".
  std::string in_brief() const;
};

/// An option, a flag or a positional argument. Declaring functions return the option, so that calls chain.
class Option {
 public:
  Option& required();
  /// Limits a number: from `least`, or from above 0, to `most`.
  Option& range(double least, double most = std::numeric_limits<double>::max());
  Option& positive(double most = std::numeric_limits<double>::max());
  /// Limits a text to one of `values`.
  Option& one_of(const std::vector<std::string>& values);
  Option& excludes(const Option& other);
  /// For a list: takes all words up to the next option ("--text A B C"); "--text=A" takes one.
  Option& takes_words() { return set(text_.words, true); }
  /// Replaces a given text by the result of `meant`.
  Option& stands_for(std::string (*meant)(const std::string& given));
  /// Accepts an empty value, which is refused otherwise.
  Option& may_be_empty() { return set(may_be_empty_, true); }
  /// The option's value if given alone, without a word of
  /// one_of(). Any other value must then be given after "=".
  Option& alone_means(const std::string& value) { return set(alone_, value); }

  /// For --help only.
  Option& group(const std::string& heading) { return set(text_.group, heading); }
  Option& hidden() { return set(text_.hidden, true); }
  Option& value_name(const std::string& name) { return set(text_.value, name); }
  Option& default_text(const std::string& text) { return set(text_.standard, text); }
  Option& help(const std::string& text) { return set(text_.help, text); }

  const OptionText& text() const { return text_; }
  const std::string& name() const { return text_.name; }
  /// The values of one_of(); empty: any value.
  const std::vector<std::string>& choices() const { return choices_; }

  /// Whether the option was given on the parsed command line, and its values.
  bool given() const;
  const std::vector<std::string>& values() const;

 private:
  friend class Options;
  Option(CLI::Option& parsed, OptionText text) : parsed_(parsed), text_(std::move(text)) {}
  template <class Value>
  Option& set(Value& member, const Value& value) {
    member = value;
    return *this;
  }
  /// Returns why a number is refused, or "".
  template <class Value>
  std::string refusal(const std::string& given) const;
  std::string refusal_of_text(const std::string& given) const;

  CLI::Option& parsed_;
  OptionText text_;
  double least_ = std::numeric_limits<double>::lowest(), most_ = std::numeric_limits<double>::max();
  std::vector<std::string> choices_;
  std::string alone_;
  bool may_be_empty_ = false, takes_several_ = false;
};

/// All options of a command, in the order of --help. Names that begin with "--" are options ("-o,--output": with a
/// short form), others positional arguments; `-` and `_` are equal on the command line. The variable bound to an option
/// must live until the command has run; its value at declaration is the default.
class Options {
 public:
  explicit Options(const std::string& command);
  ~Options();

  Option& flag(const std::string& name, bool& value, const std::string& help);
  /// Adds an option for std::string, std::int64_t or double.
  template <class Value>
  Option& add(const std::string& name, Value& value, const std::string& help);
  /// Adds an option that may be repeated, with one value each time, or a positional argument of any number of words.
  Option& add(const std::string& name, std::vector<std::string>& values, const std::string& help);
  /// Calls `set` with the given one of `names`; `standard` is the default.
  Option& choice(const std::string& name, const std::vector<std::string>& names, const std::string& standard,
                 std::function<void(const std::string& name)> set, const std::string& help);

  /// Adds an option for an enumeration, by the names of its values; the value at declaration is the default.
  template <class E>
  Option& choice(const std::string& name, E& value, const std::string& help) {
    const auto set = [&value](const std::string& given) { value = *enum_value<E>(given); };
    return choice(name, enum_names<E>(), std::string(enum_name(value)), set, help);
  }

  const std::string& command() const { return command_; }
  /// All options; --help is the first.
  const std::vector<std::unique_ptr<Option>>& all() const { return all_; }
  /// Returns the option with this name, which must exist.
  Option& find(const std::string& name) const;
  /// Finds the option of `--name` or `--name=value`, with `-` and `_` as equal; nullptr: none.
  const Option* meant_by(const std::string& argument) const;

  /// `defaults` is called before --help: it sets default_text of options and returns a line that names their source.
  void set_help_defaults(std::function<std::string()> defaults) { help_defaults_ = std::move(defaults); }
  std::string help_defaults() const { return help_defaults_ ? help_defaults_() : ""; }

  /// Adds a callback that fills in omitted arguments; called in order after start_output() and before the command.
  void before_run(std::function<void()> settle) { settle_.push_back(std::move(settle)); }
  void settle() const {
    for (const auto& each : settle_) each();
  }
  void on_parsed(std::function<void()> run) { run_ = std::move(run); }
  /// Sets the bound variables. Returns false if --help is among `arguments`. Throws Error usage, naming the option, if
  /// an argument is invalid.
  bool parse(const std::vector<std::string>& arguments);
  void run() const { run_(); }

 private:
  Option& keep(CLI::Option& parsed, OptionText text);
  std::vector<std::string> words_of(const std::vector<std::string>& arguments) const;
  [[noreturn]] void refuse_empty_argument() const;
  [[noreturn]] void refuse_extra(const std::string& extra) const;
  void refuse_repeated() const;
  void refuse_wrong_count(const std::exception& refusal) const;

  std::string command_;
  std::unique_ptr<CLI::App> app_;
  std::vector<std::unique_ptr<Option>> all_;
  std::function<std::string()> help_defaults_;
  std::vector<std::function<void()>> settle_;
  std::function<void()> run_;
};

}  // namespace chargpt
