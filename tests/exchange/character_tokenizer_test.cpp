// The tokenizer of bytes against ByteLevel's own table: GPT-2's bytes_to_unicode (Radford et al., 2019).
#include "exchange/character_tokenizer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "test.h"

namespace chargpt {
namespace {

TEST_CASE("a byte is spelled as ByteLevel spells it: by itself where Latin-1 prints it, else from U+0100 on") {
  const auto vocab = tokenizer_json(Vocabulary::of_bytes())["model"]["vocab"];
  CHECK(vocab.size() == 256);
  // Not printed are 0x00 to 0x20, which are 33, 0x7F to 0xA0, which are 34, and the soft hyphen, 0xAD.
  const std::pair<const char*, int> spelled[] = {{"Ā", 0x00}, {"Ċ", 0x0A}, {"Ġ", 0x20}, {"!", 0x21},
                                                 {"~", 0x7E}, {"ġ", 0x7F}, {"ł", 0xA0}, {"¡", 0xA1},
                                                 {"¬", 0xAC}, {"Ń", 0xAD}, {"®", 0xAE}, {"ÿ", 0xFF}};
  for (const auto& [token, byte] : spelled) {
    INFO(token);
    CHECK(vocab.at(token) == byte);
  }
}

TEST_CASE("a special token becomes a character that is none of the model's own") {
  nlohmann::json json = tokenizer_json(Vocabulary::of_characters({U'a', 0xF0000}));
  json["model"]["vocab"]["[UNK]"] = 2;
  json["model"]["unk_token"] = "[UNK]";
  CHECK(read_tokenizer(json, 3, "t").vocabulary.code_points() == std::vector<char32_t>{U'a', 0xF0000, 0xF0001});
}

}  // namespace
}  // namespace chargpt
