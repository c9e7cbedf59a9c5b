// Ids as they are stored, one after the other, and how they are cut into windows. Independent of where they come from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace chargpt {

/// A read-only run of ids of 1, 2 or 4 bytes each (the narrowest that holds the vocabulary); a view, cheap to copy. One
/// id may stand between documents: it ends the one before it and begins the one after it, and no document sees another.
class TokenView {
 public:
  TokenView() = default;
  TokenView(const void* data, int width, std::int64_t size, std::int64_t document = no_document)
      : data_(static_cast<const std::byte*>(data)), width_(width), size_(size), document_(document) {}
  static constexpr std::int64_t no_document = -1;
  std::int64_t size() const { return size_; }
  int width() const { return width_; }
  /// The id between documents; no_document: the text is one.
  std::int64_t document() const { return document_; }
  std::int64_t operator[](std::int64_t i) const {
    std::int64_t id = 0;
    copy(i, 1, &id);
    return id;
  }
  /// [begin, begin + count) as int64 into out.
  void copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
    if (width_ == 1) return widen<std::uint8_t>(begin, count, out);
    if (width_ == 2) return widen<std::uint16_t>(begin, count, out);
    widen<std::uint32_t>(begin, count, out);
  }
  /// visit(ids) for all of them as int64, a run after the other.
  template <class Visit>
  void each_run(const Visit& visit) const {
    constexpr std::int64_t most = 1 << 16;
    std::vector<std::int64_t> run(static_cast<std::size_t>(std::min(size_, most)));
    for (std::int64_t begin = 0; begin < size_; begin += most) {
      const std::int64_t count = std::min(size_ - begin, most);
      copy(begin, count, run.data());
      visit(std::span<const std::int64_t>(run).first(static_cast<std::size_t>(count)));
    }
  }
  /// The ids as they are stored.
  std::span<const std::byte> bytes() const { return {data_, static_cast<std::size_t>(size_ * width_)}; }
  TokenView slice(std::int64_t begin, std::int64_t count) const {
    return {data_ + begin * width_, width_, count, document_};
  }

 private:
  template <class Id>
  void widen(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
    std::copy_n(reinterpret_cast<const Id*>(data_) + begin, count, out);
  }

  const std::byte* data_ = nullptr;
  int width_ = 1;
  std::int64_t size_ = 0;
  std::int64_t document_ = no_document;
};

/// How many of a window's targets count: those up to the last end of a document among them, all where there is none.
std::int64_t counted_targets(const TokenView& tokens, std::int64_t begin, std::int64_t length);

/// The windows of a text, in order.
class WindowCut {
 public:
  struct Window {
    std::int64_t begin, length;
    std::int64_t from, to;  ///< of the targets, those that are scored in this window and no other
  };

  /// Windows begin every `stride` ids (1 to `length`), in each document anew; of all but the first only the targets
  /// that no earlier window held are scored. The text's last window is short.
  WindowCut(const TokenView& tokens, std::int64_t length, std::int64_t stride);
  WindowCut(const TokenView& tokens, std::int64_t length) : WindowCut(tokens, length, length) {}

  std::int64_t count() const { return count_; }
  const TokenView& tokens() const { return tokens_; }
  Window operator[](std::int64_t window) const;

 private:
  Window at(std::int64_t begin, std::int64_t from) const;
  void cut_documents();

  TokenView tokens_;
  std::int64_t targets_, length_, stride_, count_ = 0;
  std::vector<std::int64_t> begins_;        ///< where there are documents; else it is counted
  std::vector<std::int32_t> first_scored_;  ///< likewise
};

}  // namespace chargpt
