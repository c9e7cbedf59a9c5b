// A run folder from a stranger: in place of one or more of its files and folders there is something else (a link, a
// pipe, a folder, nothing, a huge file). Every command that reads runs answers soon and in few words, writes nothing
// outside, and shows nothing of what a link leads to.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/commands.h"
#include "drawn.h"
#include "source_path.h"
#include "test.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

using Words = std::vector<std::string>;

/// A number and a word that nothing but the secret files holds, in a form that every reader of a run might take.
constexpr const char* secret_word = "Xq7SECRETzz";
constexpr const char* secret_number = "31415926";
const std::string secret =
    R"({"kind":"train","step":31415926,"loss":1.5,"seconds":1,"name":"Xq7SECRETzz","format":"Xq7SECRETzz","symbols":["Xq7SECRETzz"]})"
    "\n";

/// The folder of a case: runs/mine, which is a copy of the fixture, and outside/, which is nobody's business.
class Case {
 public:
  Case() : path_(folder_.path()) {
    fs::create_directory(path_ / "runs");
    for (const fs::path& copy : {run(), path_ / "runs/sound"})
      fs::copy(source_path("/tests/fixtures/run"), copy, fs::copy_options::recursive);
    for (const char* name : {"outside", "outside/checkpoints", "outside/samples"}) {
      fs::create_directory(path_ / name);
      write_file_atomically(path_ / name / "secret.txt", secret);
      write_file_atomically(path_ / name / "step-00000010.txt", secret);
    }
    folder_.write("text.txt", "a text of some characters\n");
  }
  fs::path run() const { return path_ / "runs/mine"; }
  const fs::path& path() const { return path_; }

  /// What takes the place of a file; those before `fifo` are links.
  enum Kind { link_to_secret, link_to_outside, fifo = 8, empty_folder, empty_file, huge_file, nothing, kinds };

  void put(const std::string& name, int kind) const {
    const fs::path path = run() / name;
    std::error_code loops;  // of links, where a folder above is one to itself
    for (fs::path folder = path.parent_path(); folder != run().parent_path(); folder = folder.parent_path())
      if (!fs::is_directory(fs::symlink_status(folder, loops))) return;  // it is something else already
    fs::remove_all(path);
    const fs::path links[fifo] = {
        path_ / "outside/secret.txt",  path_ / "outside",   "/dev/zero", "/dev/urandom", path.filename(), "nothing",
        path_ / "outside/checkpoints", path_ / "runs/sound"};
    if (kind < fifo) fs::create_symlink(links[kind], path);
    if (kind == fifo) REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
    if (kind == empty_folder) fs::create_directory(path);
    if (kind == empty_file || kind == huge_file) write_file_atomically(path, "");
    if (kind == huge_file) fs::resize_file(path, std::uintmax_t{1} << 38);  // within what AddressSanitizer can ask for
  }

  /// Names, sizes, contents and times of all that is outside.
  std::map<std::string, std::string> outside() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(path_ / "outside"))
      all[entry.path().string()] = (entry.is_regular_file() ? read_file(entry.path()) : "") +
                                   std::to_string(entry.last_write_time().time_since_epoch().count());
    return all;
  }

 private:
  TestFolder folder_;
  fs::path path_;
};

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

const Words places = words_of(
    ".lock config.json events.out.tfevents.1.host.chargpt text.safetensors run.json "
    "metrics.jsonl samples samples/step-00000000.txt samples/step-00000010.txt "
    "samples/step-00000020.txt samples/step-00000030.txt checkpoints "
    "checkpoints/step-00000010.safetensors checkpoints/step-00000020.safetensors");

const std::vector<Words> tried = {{"runs", "runs"},
                                  {"runs", "runs", "--json"},
                                  {"watch", "runs/mine", "--once"},
                                  {"inspect", "runs/mine"},
                                  {"inspect", "runs/mine", "--verify"},
                                  {"sample", "runs/mine", "--tokens", "3", "--threads", "1"},
                                  {"page", "runs/mine", "-o", "page.html"},
                                  {"eval", "runs/mine", "--threads", "1"},
                                  {"score", "runs/mine", "text.txt", "--threads", "1"},
                                  {"audit", "runs/mine", "--threads", "1"},
                                  {"attention", "runs/mine", "--prompt", "a"},
                                  {"export", "runs/mine", "--format", "huggingface", "--out", "exported"}};

struct Answer {
  int status = 0;
  std::string output;
};

/// In a process of its own, that ends after ten seconds.
Answer answer_of(const fs::path& folder, Words words) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int out = ::open((folder / "output").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    const int none = ::open("/dev/null", O_RDONLY);
    if (::chdir(folder.c_str()) != 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0 || ::dup2(none, 0) < 0) ::_exit(99);
    ::alarm(10);
    words.insert(words.begin(), "chargpt");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const int code = run_command_line(static_cast<int>(words.size()), argv.data());
    std::fflush(nullptr);
    ::_exit(code);
  }
  Answer answer;
  REQUIRE(::waitpid(child, &answer.status, 0) == child);
  answer.output = read_file(folder / "output");
  return answer;
}

/// All that a command may have written: what it said, the page, the exported model.
std::string written(const fs::path& folder, const Answer& answer) {
  std::string all = answer.output;
  for (const fs::path& part : {folder / "page.html", folder / "exported"}) {
    if (fs::is_regular_file(part)) all += read_file(part);
    if (fs::is_directory(part))
      for (const auto& entry : fs::recursive_directory_iterator(part))
        if (entry.is_regular_file()) all += read_file(entry.path());
  }
  return all;
}

void check(const Case& hostile, const Words& command) {
  const auto before = hostile.outside();
  const Answer answer = answer_of(hostile.path(), command);
  INFO("status " << answer.status << ": " << answer.output.substr(0, 2000));
  REQUIRE(WIFEXITED(answer.status));  // neither a crash nor ten seconds
  const std::set<int> answers = {0, 2, 65, 66, 74, 75, 80, 81};
  CHECK(answers.contains(WEXITSTATUS(answer.status)));
  const std::string all = written(hostile.path(), answer);
  CHECK(all.find(secret_word) == std::string::npos);
  CHECK(all.find(secret_number) == std::string::npos);
  CHECK(all.find("31,415,926") == std::string::npos);
  CHECK(hostile.outside() == before);
  if (command.front() == "runs") {
    CHECK(WEXITSTATUS(answer.status) == 0);
    CHECK(answer.output.find("sound") != std::string::npos);
  }
}

/// Each with one to three things in place of others, and one command.
void check_cases(int count) {
  const unsigned seed = seed_of_this_time();
  INFO("CHARGPT_SEED=" << seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int number = 0; number < count; ++number) {
    const Case hostile;
    std::string what = "case " + std::to_string(number);
    for (std::size_t i = 0, things = 1 + below(3); i < things; ++i) {
      const std::string& place = places[below(places.size())];
      const int kind = static_cast<int>(below(Case::kinds));
      what += ", kind " + std::to_string(kind) + " at " + place;
      hostile.put(place, kind);
    }
    const Words& command = tried[below(tried.size())];
    INFO(what << ", " << command[0]);
    check(hostile, command);
  }
}

}  // namespace

TEST_CASE("the commands answer on the run as it is") {
  for (const Words& command : tried) {
    const Case sound;
    const Answer answer = answer_of(sound.path(), command);
    INFO(command[0] << ": " << answer.output.substr(0, 2000));
    REQUIRE(WIFEXITED(answer.status));
    CHECK(WEXITSTATUS(answer.status) == 0);
  }
}

TEST_CASE("anything in place of one of a run's files or folders is answered by every command") {
  check_cases(100);
}

TEST_CASE("a kept text that says it is 256 GiB long is refused by its first bytes") {
  for (const char* command : {"eval", "audit"}) {
    const Case hostile;
    fs::remove(hostile.path() / "text.txt");
    hostile.put("text.safetensors", Case::huge_file);
    const Answer answer = answer_of(hostile.path(), {command, "runs/mine", "--threads", "1"});
    INFO("status " << answer.status << ": " << answer.output.substr(0, 2000));
    REQUIRE(WIFEXITED(answer.status));
    CHECK(WEXITSTATUS(answer.status) == 66);
    CHECK(answer.output.find("text.safetensors: the header is not a JSON object") != std::string::npos);
  }
}

TEST_CASE("ten thousand hostile run folders", "[soak]") {
  check_cases(10000);
}

TEST_CASE("a run of a newer version is refused by every command that needs to know it") {
  const Case newer;
  write_file_atomically(newer.run() / "run.json", R"({"format": "chargpt run", "version": 99})");
  for (const char* command : {"watch", "inspect", "sample", "page"}) {
    const Answer answer = answer_of(newer.path(), {command, "runs/mine"});
    INFO(command << ": " << answer.output);
    CHECK(WEXITSTATUS(answer.status) == 65);
    CHECK(answer.output.find("99") != std::string::npos);
  }
}

TEST_CASE("one entry that nobody can read does not end the list of runs") {
  const Case hostile;
  fs::create_symlink("loop", hostile.path() / "runs/loop");
  fs::create_symlink("nothing", hostile.path() / "runs/nothing");
  hostile.put("metrics.jsonl", Case::empty_folder);
  const Answer answer = answer_of(hostile.path(), {"runs", "runs"});
  INFO(answer.output);
  CHECK(WEXITSTATUS(answer.status) == 0);
  CHECK(answer.output.find("sound") != std::string::npos);
  CHECK(answer.output.find("metrics.jsonl is not a regular file") != std::string::npos);
}
