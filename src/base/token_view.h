// Token ids in memory and the windows that they are cut into. Independent of where the ids come from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace chargpt {

/// A read-only view of token ids of 1, 2 or 4 bytes each (the narrowest that fits the vocabulary); cheap to copy. If
/// the text has documents, one id marks the boundary between two of them; a prediction never depends on an earlier
/// document.
class TokenView {
 public:
  TokenView() = default;
  TokenView(const void* data, int width, std::int64_t size, std::int64_t document = no_document)
      : data_(static_cast<const std::byte*>(data)), width_(width), size_(size), document_(document) {}
  static constexpr std::int64_t no_document = -1;
  std::int64_t size() const { return size_; }
  int width() const { return width_; }
  /// The id of the boundary between documents; no_document if the text is not divided.
  std::int64_t document() const { return document_; }
  std::int64_t operator[](std::int64_t i) const {
    std::int64_t id = 0;
    copy(i, 1, &id);
    return id;
  }
  /// Copies ids [begin, begin + count) into `out` as int64.
  void copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
    if (width_ == 1) return widen<std::uint8_t>(begin, count, out);
    if (width_ == 2) return widen<std::uint16_t>(begin, count, out);
    widen<std::uint32_t>(begin, count, out);
  }
  /// Calls visit(ids) with all ids as int64, in blocks of at most 65,536.
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
  /// Copies of all ids.
  template <class Id = std::int64_t>
  std::vector<Id> ids() const {
    std::vector<Id> all;
    all.reserve(static_cast<std::size_t>(size_));
    each_run([&all](std::span<const std::int64_t> run) { all.insert(all.end(), run.begin(), run.end()); });
    return all;
  }
  /// The ids as stored, size() * width() bytes.
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

/// How many targets of the window [begin, begin + length) count towards the loss: those up to the last end of a
/// document in it, or all `length` if no document ends there.
std::int64_t counted_targets(const TokenView& tokens, std::int64_t begin, std::int64_t length);

/// The windows in which a text is scored, in order. Each target is scored in exactly one window.
class WindowCut {
 public:
  struct Window {
    std::int64_t begin, length;
    std::int64_t from, to;  ///< the targets [from, to) are scored in this window
  };

  /// Windows of `length` targets begin every `stride` ids (1 to `length`), and the last one may be shorter. With
  /// documents, a window begins with a document and scores whole ones; only a document longer than a window is cut
  /// every `stride` ids.
  WindowCut(const TokenView& tokens, std::int64_t length, std::int64_t stride);
  WindowCut(const TokenView& tokens, std::int64_t length) : WindowCut(tokens, length, length) {}

  std::int64_t count() const { return count_; }
  const TokenView& tokens() const { return tokens_; }
  Window operator[](std::int64_t window) const;

 private:
  Window at(std::int64_t begin) const;
  std::int64_t begin_after(const Window& window) const;

  TokenView tokens_;
  std::int64_t targets_, length_, stride_, count_ = 0;
  std::vector<std::int64_t> begins_;  ///< of some windows, only with documents; else computed from the stride
};

}  // namespace chargpt
