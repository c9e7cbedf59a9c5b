// What a command line does to what a command has declared, and what is said of one that is not understood.
#include "cli/options.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/help_text.h"
#include "test.h"

using namespace chargpt;

namespace {

/// A command with one option of each kind.
struct Declared {
  Options options{"play"};
  std::string run, color = "auto";
  std::vector<std::string> texts, configs;
  std::int64_t threads = 0, top_k = 200;
  double minutes = 10;
  bool quiet = false, verbose = false;

  Declared() {
    options.add("RUN", run, "a run").required();
    options.add("CONFIG", configs, "configs");
    options.add("--color", color, "colours").one_of({"auto", "always", "never"});
    options.add("--text", texts, "texts").value_name("FILE");
    options.add("--threads", threads, "threads").range(0, 4096).group("Machine");
    options.add("--top_k", top_k, "the most probable").hidden();
    options.add("--minutes", minutes, "time").positive();
    const Option& hush = options.flag("--quiet", quiet, "less");
    options.flag("--verbose", verbose, "more").excludes(hush);
  }

  /// The one line, without where to read on.
  std::string refusal(const std::vector<std::string>& words) {
    try {
      options.parse(words);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::usage);
      const std::string line = error.what();
      return line.substr(0, line.find("; see chargpt play --help"));
    }
    return "";
  }
};

std::string refusal(const std::vector<std::string>& words) {
  return Declared().refusal(words);
}

}  // namespace

TEST_CASE("a command line sets what options are bound to") {
  Declared declared;
  REQUIRE(declared.options.parse({"r", "a", "--text", "x", "--text=y", "--threads", "4096", "--top-k=3", "--minutes",
                                  "0.5", "--color", "never", "--verbose", "b"}));
  CHECK(declared.run == "r");
  CHECK(declared.configs == std::vector<std::string>{"a", "b"});
  CHECK(declared.texts == std::vector<std::string>{"x", "y"});
  CHECK(declared.threads == 4096);
  CHECK(declared.top_k == 3);
  CHECK(declared.minutes == 0.5);
  CHECK(declared.color == "never");
  CHECK(declared.verbose);
  CHECK_FALSE(declared.quiet);
  CHECK(declared.options.find("--threads").given());
  CHECK_FALSE(declared.options.find("--quiet").given());
}

TEST_CASE("a repeated option takes one value each time, as it stands") {
  Declared declared;
  REQUIRE(declared.options.parse({"--text", "[x,y]", "r", "--text=[]", "a"}));
  CHECK(declared.texts == std::vector<std::string>{"[x,y]", "[]"});
  CHECK(declared.run == "r");
  CHECK(declared.configs == std::vector<std::string>{"a"});
}

TEST_CASE("an option that takes words has all up to the next option, once more each time it is given") {
  const auto texts_of = [](const std::vector<std::string>& arguments, const std::string& expected_config) {
    Options options("train");
    std::string config;
    bool quiet = false;
    std::vector<std::string> texts;
    options.add("CONFIG", config, "");
    options.flag("--quiet", quiet, "");
    options.add("--text", texts, "").takes_words();
    options.parse(arguments);
    CHECK(config == expected_config);
    return texts;
  };
  using Texts = std::vector<std::string>;
  CHECK(texts_of({"default", "--text", "a.txt", "[b,c]", "-", "--quiet"}, "default") == Texts{"a.txt", "[b,c]", "-"});
  CHECK(texts_of({"--text", "a", "--quiet", "default"}, "default") == Texts{"a"});
  CHECK(texts_of({"--text", "a", "b", "--text", "b", "--quiet"}, "") == Texts{"a", "b", "b"});
  CHECK(texts_of({"--text=a", "default", "--text=b"}, "default") == Texts{"a", "b"});
  CHECK(texts_of({"--text", "a", "b", "--", "default"}, "default") == Texts{"a", "b"});
}

TEST_CASE("an empty value after = is the value") {
  Declared declared;
  REQUIRE(declared.options.parse({"r", "--text=", "--quiet"}));
  CHECK(declared.texts == std::vector<std::string>{""});
  CHECK(declared.quiet);
}

TEST_CASE("behind -- stand arguments, whatever they begin with") {
  Declared declared;
  REQUIRE(declared.options.parse({"--quiet", "--", "--verbose", "-c"}));
  CHECK(declared.quiet);
  CHECK_FALSE(declared.verbose);
  CHECK(declared.run == "--verbose");
  Options empty{"empty"};
  CHECK_THROWS_WITH(empty.parse({"--", "--help"}), "'--help' is one argument too many; see chargpt empty --help");
  CHECK(declared.configs == std::vector<std::string>{"-c"});
}

TEST_CASE("a number with leading zeros is decimal") {
  Declared declared;
  REQUIRE(declared.options.parse({"r", "--threads", "010", "--top_k=-08"}));
  CHECK(declared.threads == 10);
  CHECK(declared.top_k == -8);
}

TEST_CASE("help is made of what was declared") {
  Declared declared;
  CHECK_FALSE(declared.options.parse({"--help"}));
  const std::string help = full_help(declared.options, "plays", "chargpt play r");
  CHECK(help.starts_with(
      "plays\n\nUsage: chargpt play RUN [CONFIG...] [OPTIONS]\n\n  RUN                       a run\n"));
  CHECK(help.find("  --color {auto,always,never}\n                            colours (default auto)\n") !=
        std::string::npos);
  CHECK(help.find("\nMachine:\n  --threads INT             threads [0 to 4096] (default 0)\n") != std::string::npos);
  CHECK(help.find("--top-k") == std::string::npos);
  CHECK(help.ends_with("\nExample: chargpt play r\n"));
}

TEST_CASE("short help has a line for each of the first dozen options, cut at its first clause") {
  Declared declared;
  bool several[7]{};
  for (int i = 0; i < 7; ++i)
    declared.options.flag("--flag-" + std::to_string(i), several[i],
                          i == 5 ? "with --json: two words; and more" : "short words: and what else is to be said");
  const std::string brief = short_help(declared.options, "plays", "chargpt play r");
  CHECK(brief.starts_with("plays\n\nUsage: chargpt play RUN [CONFIG...] [OPTIONS]\nExample: chargpt play r\n"));
  CHECK(brief.find("--top-k") == std::string::npos);
  CHECK(brief.find("  --flag-5                  with --json: two words\n") != std::string::npos);
  CHECK(brief.find("  --flag-6                  short words\n") != std::string::npos);
  CHECK(brief.find("--threads") == std::string::npos);
  CHECK(brief.ends_with("\nall 13 options with ranges and defaults: chargpt play --help\n"));
}

TEST_CASE("an empty value is refused but where it is one, and an existing path is never a list") {
  CHECK(refusal({"r", "--text", "a", "--text", "b", "--color="}) ==
        "--color: an empty value is not understood; it takes one of auto, always, never");
  CHECK(refusal({"r", "a", ""}) == "an empty argument is given in the place of RUN or CONFIG");
  Declared listed;
  REQUIRE(listed.options.parse({"[r]", "[a]", "[b,c]", "--text", "[d]", "--", "[e]"}));
  CHECK(listed.run == "[r]");
  CHECK(listed.configs == std::vector<std::string>{"[a]", "[b,c]", "[e]"});
  CHECK(listed.texts == std::vector<std::string>{"[d]"});
}

TEST_CASE("an option that may stand alone takes the next word only where that is one of its values") {
  std::string run, mode, said;
  const auto parsed = [&](const std::vector<std::string>& words) {
    run = mode = "";
    Options options("play");
    options.add("RUN", run, "a run");
    options.add("--mode", mode, "how").one_of({"one", "two"}).alone_means("two");
    CHECK(options.parse(words));
    return run + " " + mode;
  };
  CHECK(parsed({"r", "--mode"}) == "r two");
  CHECK(parsed({"--mode", "r"}) == "r two");
  CHECK(parsed({"--mode", "one", "r"}) == "r one");
  CHECK(parsed({"r", "--mode=one"}) == "r one");
  CHECK(parsed({"r"}) == "r ");
}

TEST_CASE("what was left out is filled in before the command runs") {
  Options options("play");
  std::string run, order;
  options.add("RUN", run, "a run");
  options.before_run([&] { run = run.empty() ? "newest" : run; });
  options.on_parsed([&] {
    options.settle();
    order = run;
  });
  CHECK(options.parse({}));
  options.run();
  CHECK(order == "newest");
}
