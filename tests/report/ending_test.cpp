// What a run's end is called, in words and in its metrics.
#include "report/events.h"

#include "base/files.h"
#include "report/files/metrics.h"
#include "report/progress.h"
#include "test_folder.h"

using namespace chargpt;

namespace {

EndEvent end_by(Ending ending) {
  return {.ended = ending, .step = 440, .max_iters = 600, .max_seconds = 10, .seconds = 9.5};
}

}  // namespace

TEST_CASE("why a run ended is one line, and the command that continues it another") {
  CHECK(why_ended(end_by(Ending::patience)) ==
        "ended by patience after 440 of 600 steps, because validation loss no longer improved");
  CHECK(why_ended(end_by(Ending::seconds)) == "ended after 440 steps, when its seconds were used up");
  CHECK(why_ended({.ended = Ending::finished, .step = 600, .max_iters = 600}) == "finished after 600 steps");
  CHECK(why_ended({.ended = Ending::finished, .step = 1, .max_iters = 1}) == "finished after 1 step");
  CHECK(command_to_go_on(end_by(Ending::finished), "my run") == "chargpt resume 'my run' --max_iters 1200");
  CHECK(command_to_go_on({.ended = Ending::finished, .max_iters = 0}, "a") == "chargpt resume a --max_iters 1000");
  CHECK(command_to_go_on(end_by(Ending::seconds), "runs/a") == "chargpt resume runs/a --minutes 0.166667");
  CHECK(command_to_go_on(end_by(Ending::stopped), "runs/a") == "chargpt resume runs/a");
  CHECK(why_ended({.ended = Ending::stopped, .step = 440}) == "stopped after 440 steps");
  CHECK(why_ended(end_by(Ending::diverged)) == "diverged after 440 of 600 steps");
}

TEST_CASE_METHOD(TestFolder, "metrics end with why the run did, until it goes on") {
  CHECK(ending_in_metrics(path() / "") == Ending::unknown);
  {
    MetricsWriter metrics(path() / "metrics.jsonl");
    metrics.on(NoticeEvent{std::string(10'000, 'x')});
    CHECK(ending_in_metrics(path() / "") == Ending::unknown);
    metrics.on(end_by(Ending::patience));
  }
  const std::string rows = read_file(path() / "metrics.jsonl");
  CHECK(rows.substr(rows.rfind("{\"kind")) ==
        "{\"kind\":\"end\",\"step\":440,\"ended\":\"patience\",\"max_iters\":600,\"seconds\":9.5}\n");
  CHECK(ending_in_metrics(path() / "") == Ending::patience);
  MetricsWriter resumed(path() / "metrics.jsonl", 440);
  CHECK(ending_in_metrics(path() / "") == Ending::patience);
  resumed.on(NoticeEvent{"patience starts over"});
  CHECK(ending_in_metrics(path() / "") == Ending::unknown);
}

TEST_CASE("long work shows how far it is, short work nothing") {
  std::string shown;
  const auto sink = [&shown](std::string_view text) { shown += text; };
  const auto work = [](double part, double seconds) { return WorkEvent{"evaluating", part, 20, seconds}; };
  ProgressPrinter plain({}, sink);
  plain.on(work(0, 10));
  plain.on(work(0.2, 10.4));
  CHECK(shown.empty());
  plain.on(work(0.4, 10.5));
  plain.on(work(0.6, 12));
  plain.on(work(0.9, 16));
  CHECK(shown == "step 20  evaluating: 40 %\nstep 20  evaluating: 90 %\n");
  shown.clear();
  ProgressPrinter terminal({.columns = 80}, sink);
  terminal.on(work(0, 10));
  terminal.on(work(0.4, 11));
  terminal.on(work(0.41, 11.05));
  terminal.on(work(0.5, 11.2));
  CHECK(shown == "\rstep 20  evaluating: 40 %\x1b[K\rstep 20  evaluating: 50 %\x1b[K");
  shown.clear();
  terminal.on(WorkEvent{"saving", WorkEvent::no_parts, 20, 11.2});
  CHECK(shown == "\rstep 20  saving\x1b[K");
}
