// Records that outlast a disk that is full for a while.
#include "report/files/patient_file.h"

#include <sys/resource.h>

#include <csignal>

#include "base/error.h"
#include "base/files.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

/// While it lives, no file grows beyond `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const struct rlimit limit { bytes, before_.rlim_max };
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  struct rlimit before_ {};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE_METHOD(TestFolder, "records wait while they cannot be written, and come in order, none twice, none lost") {
  std::vector<std::string> complaints;
  PatientFile file(path() / "f", [&](const std::string& line) { complaints.push_back(line); });
  file.write("one\n");
  {
    const FileSizeLimit limit(6);  // "two" breaks off after two of its four bytes
    file.write("two\n");
    file.write("three\n");
  }
  CHECK(read_file(path() / "f") == "one\ntw");
  file.write("four\n");
  CHECK(read_file(path() / "f") == "one\ntwo\nthree\nfour\n");
  CHECK(complaints == Names{"cannot write " + (path() / "f").string() +
                            ": File too large; its lines are kept in memory until it can be written again"});
}

TEST_CASE_METHOD(TestFolder, "each new failure is told once") {
  int complaints = 0;
  PatientFile file(path() / "f", [&](const std::string&) { ++complaints; });
  for (int time = 1; time <= 2; ++time) {
    {
      const FileSizeLimit nothing_more(read_file(path() / "f").size());
      file.write("x\n");
      file.write("y\n");
      CHECK(complaints == time);
    }
    file.write("z\n");
  }
  CHECK(read_file(path() / "f") == "x\ny\nz\nx\ny\nz\n");
}

TEST_CASE_METHOD(TestFolder, "where there is nobody to tell, a failure is an Error") {
  PatientFile file(path() / "f", {});
  const FileSizeLimit limit(1);
  CHECK_THROWS_AS(file.write("xy"), Error);
}
