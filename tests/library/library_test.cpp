// The library as its header shows it: what its functions say and refuse, and threads that share a model. That it writes
// and scores what the program does is tested by test_library.py.
#include "library/chargpt.hpp"

#include <thread>

#include "base/files.h"
#include "source_path.h"
#include "test.h"

namespace {

using chargpt::Model;

const std::string run = chargpt::source_path("/tests/fixtures/run");

/// Status of what `work` throws; CHARGPT_OK where it does not.
template <class Work>
int status_of(Work&& work) {
  try {
    work();
    return CHARGPT_OK;
  } catch (const chargpt::Error& error) {
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    CHECK_FALSE(std::string(error.what()).empty());
    return error.status();
  }
}

/// The fixture's model.
struct Opened {
  const Model model{run};
};

double sum(const std::vector<float>& values) {
  double total = 0;
  for (const float value : values) total += value;
  return total;
}

}  // namespace

TEST_CASE_METHOD(Opened, "an opened model says what it is") {
  CHECK(model.step() == 20);
  CHECK(model.block_size() == 24);
  CHECK(model.parameters() > 1000);
  CHECK(model.vocabulary_size() > 20);
  CHECK(model.config().find("\"n_embd\": 16") != std::string::npos);
  CHECK(model.checkpoint().ends_with("step-00000020.safetensors"));
  CHECK(model.notices().empty());
  CHECK(std::string(chargpt_version()).find('.') != std::string::npos);
  CHECK(chargpt_abi() == CHARGPT_ABI);
}

TEST_CASE("the weights are those that were asked for") {
  const auto losses = [](const std::string& weights) { return Model(run, {.weights = weights}).score("the end"); };
  CHECK(losses("trained") != losses("averaged"));
  CHECK(losses("trained") == losses("better"));
}

TEST_CASE_METHOD(Opened, "a checkpoint in memory is the model of its file") {
  const std::string whole = chargpt::read_regular_file(model.checkpoint(), 1 << 24);
  std::string bytes = whole;
  const Model other = Model::of_bytes(bytes, {.weights = "trained"});
  bytes.assign(bytes.size(), 'x');
  CHECK(other.score("the end") == Model(run, {.weights = "trained"}).score("the end"));
  CHECK(other.step() == 20);
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, whole.size() / 2, whole.size() - 1})
    CHECK(status_of([&] { Model::of_bytes(whole.substr(0, size)); }) == CHARGPT_DATA);
  chargpt_model* none = nullptr;
  CHECK(chargpt_open_memory(nullptr, 8, nullptr, &none) == CHARGPT_USAGE);
  CHECK(chargpt_open_memory(whole.data(), whole.size(), nullptr, nullptr) == CHARGPT_USAGE);
}

TEST_CASE_METHOD(Opened, "a text's ids and back") {
  const std::string text = "the end\n";
  std::string back;
  for (const std::int64_t id : model.encode(text)) back += model.symbol(id);
  CHECK(back == text);
  CHECK(model.encode("").empty());
}

TEST_CASE_METHOD(Opened, "a sample is a function of its seed and number, whatever pieces it comes in") {
  const std::string whole = model.generate({.prompt = "the ", .tokens = 60});
  CHECK(model.generate({.prompt = "the ", .tokens = 60}) == whole);
  CHECK(model.generate({.prompt = "the ", .tokens = 60, .seed = 2}) != whole);
  CHECK(model.generate({.prompt = "the ", .tokens = 60, .sample = 1}) != whole);
  CHECK(model.generate({.prompt = "the ", .tokens = 0}).empty());
  const std::string stop = whole.substr(20, 3);
  CHECK(model.generate({.prompt = "the ", .tokens = 60, .stops = {stop}}) == whole.substr(0, whole.find(stop)));
}

TEST_CASE("a sample of bytes has each of them, also of a character that its end cuts") {
  const Model model(chargpt::source_path("/tests/fixtures/bytes"));
  int begun = 0;  // a fifth of all bytes begin a character of several
  for (std::int64_t i = 0; i < 64; ++i) {
    const std::string text =
        model.generate({.tokens = 1, .top_k = 0, .temperature = 1000.0, .top_p = 1.0, .min_p = 0.0, .sample = i});
    REQUIRE(text.size() == 1);
    begun += static_cast<unsigned char>(text[0]) >= 0xC2 && static_cast<unsigned char>(text[0]) <= 0xF4 ? 1 : 0;
  }
  CHECK(begun > 0);
}

TEST_CASE_METHOD(Opened, "a callback may end a text, and what it throws reaches the caller") {
  std::string text;
  model.generate({.tokens = 60}, [&](std::string_view piece) {
    text += piece;
    return text.size() < 10;
  });
  CHECK(text.size() >= 10);
  CHECK(text.size() < 20);
  CHECK_THROWS_AS(model.generate({.tokens = 60}, [](std::string_view) -> bool { throw std::length_error("enough"); }),
                  std::length_error);
}

TEST_CASE_METHOD(Opened, "a callback that has ended a text hears nothing of what a stop string held back") {
  chargpt::GenerateOptions options{.tokens = 60};
  for (std::int64_t id = 0; id < model.vocabulary_size(); ++id) options.stops.push_back(model.symbol(id) + "\x01");
  int calls = 0;
  model.generate(options, [&calls](std::string_view piece) {
    calls += piece.empty() ? 9 : 1;
    return false;
  });
  CHECK(calls == 1);
}

TEST_CASE_METHOD(Opened, "logits, losses and attention agree with one another") {
  const std::string text = "of the ";
  const std::vector<float> logits = model.logits(text.substr(0, text.size() - 1));
  REQUIRE(std::ssize(logits) == model.vocabulary_size());
  const std::vector<float> losses = model.score(text);
  REQUIRE(losses.size() == text.size() - 1);
  double total = 0;
  for (const float logit : logits) total += std::exp(logit);
  CHECK(losses.back() == Approx(std::log(total) - logits[static_cast<std::size_t>(model.encode(text).back())]));
  CHECK(model.score("").empty());
  const chargpt::Attention attention = model.attention(text);
  CHECK(attention.layers == 2);
  CHECK(attention.heads == 2);
  REQUIRE(attention.T == std::ssize(text));
  const auto T = static_cast<std::size_t>(attention.T);
  for (std::size_t row = 0; row < attention.values.size(); row += T)
    CHECK(sum({attention.values.begin() + static_cast<std::ptrdiff_t>(row),
               attention.values.begin() + static_cast<std::ptrdiff_t>(row + T)}) == Approx(1));
}

TEST_CASE_METHOD(Opened, "attention is that of a text's end where the text is longer than the context") {
  const std::string text = "to be or not to be at the end";
  const chargpt::Attention attention = model.attention(text);
  CHECK(attention.T == 24);
  CHECK(attention.values == model.attention(text.substr(text.size() - 24)).values);
}

TEST_CASE_METHOD(Opened, "logits of ids are those of each of a text's beginnings") {
  const std::string text = "of the ";
  const std::vector<float> all = model.logits_of_ids(model.encode(text));
  const auto V = static_cast<std::size_t>(model.vocabulary_size());
  REQUIRE(all.size() == text.size() * V);
  for (std::size_t length = 1; length <= text.size(); ++length) {
    const std::vector<float> last = model.logits(text.substr(0, length));
    for (std::size_t id = 0; id < V; ++id) CHECK(all[(length - 1) * V + id] == Approx(last[id]).margin(1e-5));
  }
  CHECK(status_of([&] { model.logits_of_ids({}); }) == CHARGPT_USAGE);
  CHECK(status_of([&] { model.logits_of_ids({-1}); }) == CHARGPT_USAGE);
  CHECK(status_of([&] { model.logits_of_ids({model.vocabulary_size()}); }) == CHARGPT_USAGE);
  CHECK(status_of([&] { model.logits_of_ids(std::vector<std::int64_t>(25, 0)); }) == CHARGPT_USAGE);
}

TEST_CASE_METHOD(Opened, "what a prompt has that the model has never seen is left out where that was asked for") {
  CHECK(model.generate({.prompt = "the \u263a", .tokens = 20, .unknown = chargpt::Unknown::skip}) ==
        model.generate({.prompt = "the ", .tokens = 20}));
  CHECK(status_of([&] { model.generate({.prompt = "the \u263a", .tokens = 20}); }) == CHARGPT_DATA);
}

TEST_CASE("what a call gets wrong is one line and a status") {
  CHECK_THROWS_WITH(Model(run + "s"), "no run or checkpoint at " + run + "s");  // nothing is listed
  CHECK(status_of([] { Model(run, {.checkpoint = "step-7"}); }) == CHARGPT_MISSING);
  CHECK(status_of([] { Model(run, {.weights = "worse"}); }) == CHARGPT_USAGE);
  CHECK(status_of([] { Model(run, {.threads = -1}); }) == CHARGPT_USAGE);
  const Model model(run);
  CHECK(status_of([&] { model.encode("\xff"); }) == CHARGPT_DATA);
  CHECK(status_of([&] { model.encode("\u263a"); }) == CHARGPT_DATA);
  CHECK(model.encode("\u263a", chargpt::Unknown::skip).empty());
  CHECK(model.encode("\u263a", chargpt::Unknown::replace).size() == 1);
  CHECK(status_of([&] { model.symbol(model.vocabulary_size()); }) == CHARGPT_USAGE);
  CHECK(status_of([&] { model.generate({.temperature = -1.0}); }) == CHARGPT_USAGE);
  CHECK(status_of([&] { model.generate({.temperature = std::nan("")}); }) == CHARGPT_USAGE);
  CHECK(status_of([&] { model.generate({.stops = {""}}); }) == CHARGPT_USAGE);
  CHECK(status_of([&] { model.generate({.stops = {std::string("a\0b", 3)}}); }) == CHARGPT_USAGE);  // C would see "a"
}

TEST_CASE("facts of NULL are empty, and the error says why") {
  for (const auto fact : {chargpt_checkpoint, chargpt_config, chargpt_notices})
    CHECK(std::string(fact(nullptr)).empty());
  CHECK(chargpt_step(nullptr) + chargpt_parameters(nullptr) + chargpt_block_size(nullptr) == 0);
  CHECK(chargpt_vocabulary_size(nullptr) == 0);
  CHECK(std::string(chargpt_last_error()).find("NULL") != std::string::npos);
}

TEST_CASE("NULL, and arrays that are too short, write nothing") {
  CHECK(chargpt_open(nullptr, nullptr, nullptr) == CHARGPT_USAGE);
  CHECK(chargpt_open_defaults(nullptr) == CHARGPT_USAGE);
  chargpt_close(nullptr);
  std::size_t count = 7;
  CHECK(chargpt_encode(nullptr, "a", 1, CHARGPT_UNKNOWN_ERROR, nullptr, 0, &count) == CHARGPT_USAGE);
  CHECK(count == 7);
  chargpt_generate_options options{};
  options.size = sizeof options;
  const auto stop = [](void*, const char*, std::size_t) { return 1; };
  CHECK(chargpt_generate(nullptr, &options, stop, nullptr) == CHARGPT_USAGE);
  std::int64_t layers = 0, heads = 0, T = 0;
  CHECK(chargpt_attention(nullptr, "a", 1, CHARGPT_UNKNOWN_ERROR, nullptr, 0, &layers, &heads, &T) == CHARGPT_USAGE);
  chargpt_model* model = nullptr;
  REQUIRE(chargpt_open(run.c_str(), nullptr, &model) == CHARGPT_OK);
  std::int64_t id = -5;
  CHECK(chargpt_encode(model, "the", 3, CHARGPT_UNKNOWN_ERROR, &id, 1, &count) == CHARGPT_USAGE);
  CHECK(count == 3);
  CHECK(chargpt_encode(model, "the", 3, CHARGPT_UNKNOWN_ERROR, nullptr, 0, &count) == CHARGPT_OK);
  CHECK(id == -5);
  float loss = -5;
  CHECK(chargpt_score(model, "the", 3, CHARGPT_UNKNOWN_ERROR, &loss, 1, &count) == CHARGPT_USAGE);
  CHECK(chargpt_attention(model, "the", 3, CHARGPT_UNKNOWN_ERROR, &loss, 1, &layers, &heads, &T) == CHARGPT_USAGE);
  CHECK(T == 3);
  CHECK(loss == -5);
  CHECK(chargpt_logits(model, "the", 3, CHARGPT_UNKNOWN_ERROR, &loss, 1) == CHARGPT_USAGE);
  id = 0;
  CHECK(chargpt_logits_of_ids(model, &id, 1, &loss, 1) == CHARGPT_USAGE);
  CHECK(chargpt_logits_of_ids(model, nullptr, 1, &loss, 1) == CHARGPT_USAGE);
  CHECK(loss == -5);
  chargpt_close(model);
}

TEST_CASE("a program built with a header of fewer options has the defaults of the others") {
  chargpt_model* model = nullptr;
  REQUIRE(chargpt_open(run.c_str(), nullptr, &model) == CHARGPT_OK);
  chargpt_generate_options options{};
  options.size = offsetof(chargpt_generate_options, top_k);
  options.top_k = 77;
  REQUIRE(chargpt_generate_defaults(model, &options) == CHARGPT_OK);
  CHECK(options.tokens > 0);
  CHECK(options.top_k == 77);
  CHECK(options.size == offsetof(chargpt_generate_options, top_k));
  options.size = 0;
  CHECK(chargpt_generate_defaults(model, &options) == CHARGPT_USAGE);
  options.size = sizeof options;
  options.stop_count = 1;
  const auto ignore = [](void*, const char*, std::size_t) { return 0; };
  CHECK(chargpt_generate(model, &options, ignore, nullptr) == CHARGPT_USAGE);
  chargpt_close(model);
}

TEST_CASE("a call leaves the caller's way of computing alone") {
  volatile float small = 2e-38F;
  const Model model(run);
  model.score("the end");
  CHECK(small / 4 > 0);
}

TEST_CASE_METHOD(Opened, "eight threads share one model, and each gets what it would get alone") {
  const auto text_of = [&](int thread) { return model.generate({.prompt = "the ", .tokens = 40, .sample = thread}); };
  std::vector<std::string> alone, together(8);
  std::vector<double> losses(8);
  for (int thread = 0; thread < 8; ++thread) alone.push_back(text_of(thread));
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread)
      threads.emplace_back([&, thread] {
        const auto index = static_cast<std::size_t>(thread);
        together[index] = text_of(thread);
        losses[index] =
            sum(model.score("to be or not to be")) + sum(model.logits("to b")) + sum(model.attention("to be").values);
      });
  }
  CHECK(together == alone);
  for (const double loss : losses) CHECK(loss == losses.front());
}
