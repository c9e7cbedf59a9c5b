// Formats numbers for people (bytes, counts, durations, losses) and JSON as text. Pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace chargpt {

using Json = nlohmann::ordered_json;

/// `digits` after the point, and no sign before a zero; "nan", "inf" and "-inf" if the value is not finite.
std::string format_fixed(double value, int digits);

/// A fraction as percent: 0.123 is "12.3 %".
std::string format_percent(double part, int digits = 1);

/// Decimal units, two or three digits: "999 B", "1.5 kB", "45 MB".
std::string format_bytes(std::int64_t bytes);

/// "1,234,567"
std::string format_count(std::int64_t count);

/// "1 step", "1,200 steps": `what` in the singular.
std::string format_count(std::int64_t count, std::string_view what);

/// "step 250 of 2,000"; "step 250" if `max_iters` is 0, unknown.
std::string format_step(std::int64_t step, std::int64_t max_iters);

/// Three leading digits and a decimal unit: "7.2", "812", "45.2k", "1.35M".
std::string format_short(double value);

/// The two largest units: "0.8 s", "42 s", "3 min 20 s", "2 h 05 min", "3 d 4 h"; "unknown" if negative or not
/// finite.
std::string format_duration(double seconds);

/// A loss over a split: "1.6912", or "≈1.6912" unless every token of the split was scored.
std::string format_nats(double nats, bool exact);

/// A loss with bits and perplexity: "1.6912 (2.440 bits, ppl 5.43)"; only the loss if it is not finite.
std::string format_loss(double nats, bool exact = true);

/// The label beside every loss of a model that sees its own targets.
inline constexpr const char* leaks_label = "leaks: sees its own targets";

/// Serializes `json`, followed by `end`; `indent` -1: on one line. Bytes that are not UTF-8 become U+FFFD, so that a
/// path with such bytes does not make the call fail.
std::string json_text(const nlohmann::ordered_json& json, int indent = 2, const char* end = "\n");

/// The value at `place`, a JSON pointer: "/baselines/ngram/loss"; null if it is absent.
nlohmann::ordered_json value_at(const nlohmann::ordered_json& json, const std::string& place);

/// Parses untrusted text. Returns a value with is_discarded() if it is not JSON or nests deeper than 16 levels: copying
/// deep JSON could overflow the stack.
nlohmann::ordered_json foreign_json(std::string_view text);

}  // namespace chargpt
