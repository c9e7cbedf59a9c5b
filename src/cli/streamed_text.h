// A sample on its way to stdout: as it grows, or kept whole until its turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/print_text.h"
#include "generate/stop.h"
#include "text/vocabulary.h"

namespace chargpt {

/// Writes one sample's text to stdout as it grows; others are kept whole until their turn.
class StreamedText {
 public:
  StreamedText(const std::vector<std::string>& stop, bool live) : matcher_(stop), live_(live) {}

  /// The document ends here. False, as add() says it.
  bool end() {
    ended_ = true;
    return false;
  }
  bool ended() const { return ended_; }
  bool stopped() const { return !ended_ && matcher_.stopped(); }  ///< by one of `stop`
  bool add(const std::string& symbol) {
    ++tokens_;
    emit(matcher_.add(assembler_.add(symbol)));
    return !matcher_.stopped();
  }
  void finish() {
    emit(matcher_.add(assembler_.finish()));
    emit(matcher_.finish());
  }
  const std::string& text() const { return text_; }
  std::int64_t tokens() const { return tokens_; }

 private:
  void emit(const std::string& text) {
    text_ += text;
    if (!live_ || text.empty()) return;
    print_text(text);
    const double now = steady_seconds();
    if (now - flushed_ < 0.005) return;  // writes a few characters at once: nobody reads faster
    flush_text();
    flushed_ = now;
  }
  Utf8Assembler assembler_;  // units bytes: a character may come in several tokens
  StopMatcher matcher_;
  bool live_, ended_ = false;
  double flushed_ = 0;
  std::string text_;
  std::int64_t tokens_ = 0;
};

}  // namespace chargpt
