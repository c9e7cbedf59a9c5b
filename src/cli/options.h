// The options of one command: declared here, read by CLI11. Only options.cpp includes CLI11, whose header takes longer
// to compile than all the rest of a command. Knows no command and prints nothing.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
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

/// What `--help` says of an option.
struct OptionText {
  std::string name{};      ///< "--seed"; "RUN" of a positional argument
  std::string letter{};    ///< "-h" of --help; empty: none
  std::string value{};     ///< what stands for its value: "INT", "{auto,always,never}"; empty: a flag takes none;
                           ///< "[=RATE]": it takes one only after "="
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
  /// With dashes, as people are shown it; underscores, as in the keys of a config, are understood too.
  std::string shown_name() const;
  /// The first clause of the help, with the condition that stands before it: "train: steps measured".
  std::string in_brief() const;
};

/// An option, a flag or a positional argument. Declaring functions return the option, so that calls chain.
class Option {
 public:
  Option& required();
  /// Of numbers: from `least` to `most`; above 0; 0 and above.
  Option& range(std::int64_t least, std::int64_t most);
  Option& positive();
  Option& non_negative();
  /// Of texts: one of `values`.
  Option& one_of(const std::vector<std::string>& values);
  Option& excludes(const Option& other);
  /// Of a list: takes all words up to the next option ("--text A B C"); "--text=A" takes one.
  Option& takes_words() { return set(text_.words, true); }
  /// `meant` of a given text takes its place.
  Option& stands_for(std::string (*meant)(const std::string& given));
  /// An empty value, which is refused elsewhere, is one.
  Option& may_be_empty() { return set(may_be_empty_, true); }
  /// Without one of its values (see one_of), the option alone is given as this one. With any value, it takes one only
  /// after "=".
  Option& alone_means(const std::string& value) { return set(alone_, value); }

  /// For --help only.
  Option& group(const std::string& heading) { return set(text_.group, heading); }
  Option& hidden() { return set(text_.hidden, true); }
  Option& value_name(const std::string& name) { return set(text_.value, name); }
  Option& default_text(const std::string& text) { return set(text_.standard, text); }
  Option& help(const std::string& text) { return set(text_.help, text); }

  const OptionText& text() const { return text_; }
  const std::string& name() const { return text_.name; }
  /// See one_of(); empty: any value.
  const std::vector<std::string>& choices() const { return choices_; }

  /// On the parsed command line: whether the option was given, and with what values.
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
  /// Why a number is refused; empty if it is not.
  template <class Value>
  std::string refusal(const std::string& given) const;
  std::string refusal_of_empty(const std::string& given) const;
  bool given_twice() const;

  CLI::Option& parsed_;
  OptionText text_;
  std::optional<std::int64_t> least_, most_;
  std::vector<std::string> choices_;
  std::string alone_;
  bool above_zero_ = false, may_be_empty_ = false;
};

/// All options of a command, in the order of --help. A name that begins with "--" is an option's ("-o,--output": with a
/// letter for short), any other one a positional argument's; `-` and `_` in it are the same on the command line. What
/// an option is bound to must live until the command has run; its value at declaration is the default.
class Options {
 public:
  explicit Options(const std::string& command);
  ~Options();

  Option& flag(const std::string& name, bool& value, const std::string& help);
  /// Of std::string, std::int64_t or double.
  template <class Value>
  Option& add(const std::string& name, Value& value, const std::string& help);
  /// May be repeated, with one value each time; of a positional argument, up to 1000 words.
  Option& add(const std::string& name, std::vector<std::string>& values, const std::string& help);
  /// `set` is called with the given one of `names`; `standard` holds if none is given.
  Option& choice(const std::string& name, const std::vector<std::string>& names, const std::string& standard,
                 std::function<void(const std::string& name)> set, const std::string& help);

  /// Of an enumeration, by the names of its values; the one at declaration holds if none is given.
  template <class E>
  Option& choice(const std::string& name, E& value, const std::string& help) {
    const std::vector<std::string> names(std::begin(EnumNames<E>::names), std::end(EnumNames<E>::names));
    const auto set = [&value](const std::string& given) { value = *enum_value<E>(given); };
    return choice(name, names, std::string(enum_name(value)), set, help);
  }

  const std::string& command() const { return command_; }
  /// --help first.
  const std::vector<std::unique_ptr<Option>>& all() const { return all_; }
  /// The option of this name, which must exist.
  Option& find(const std::string& name) const;
  /// The option that `--name` or `--name=value` means, whatever its `-` and `_`; null: none.
  const Option* meant_by(const std::string& argument) const;

  /// `defaults`: called before --help to set default_text of options; returns the line that says whose they are.
  void set_help_defaults(std::function<std::string()> defaults) { help_defaults_ = std::move(defaults); }
  std::string help_defaults() const { return help_defaults_ ? help_defaults_() : ""; }

  /// Called in order between on_parsed's output and the command: for what was left out.
  void before_run(std::function<void()> settle) { settle_.push_back(std::move(settle)); }
  void settle() const {
    for (const auto& each : settle_) each();
  }
  void on_parsed(std::function<void()> run) { run_ = std::move(run); }
  /// Sets what the options are bound to. False if --help is among `arguments`. Error usage, naming the option, for
  /// what is not understood.
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
