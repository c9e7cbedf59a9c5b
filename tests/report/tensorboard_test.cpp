// TensorBoard files against bytes made by TensorFlow's own libraries, and against the published CRC vectors.
#include "report/files/tensorboard.h"

#include "base/files.h"
#include "test_folder.h"

using namespace chargpt;
using namespace std::string_literals;

namespace {

struct TensorBoardFolder : TestFolder {
  std::string only_file() const {
    const Names names = entries_of(path());
    REQUIRE(names.size() == 1);
    return read_file(path() / names[0]);
  }
};

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

double fixed_time() {
  return 1.5;
}

// Written by the RecordWriter and the protobuf classes of the Python package tensorboard 2.21: an event of wall
// time 1.5 each, with the values that the cases below give.
const std::string version_record =
    from_hex("1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c");
const std::string start_record = from_hex("100000000000000095fbfe1809000000000000f83f10ad023a020801d17949d4");
const std::string step_record = from_hex(
    "5800000000000000a28b2f8c09000000000000f83f10ac022a4a0a110a0a747261696e2f6c6f737315000020400a090a026c72156f12"
    "833a0a100a09677261645f6e6f726d150000403f0a180a11746f6b656e735f7065725f7365636f6e641500c82f47538a7eaa");
const std::string eval_record = from_hex(
    "3700000000000000e7e8ca5909000000000000f83f10ac022a290a0f0a0876616c2f6c6f7373150000f03f0a160a0f747261696e2f65"
    "76616c5f6c6f7373150000e03f068fb37c");
const std::string text_record = from_hex(
    "36000000000000004f578cef09000000000000f83f10ac022a280a260a0673616d706c65421208071204120208014208546f2062650a"
    "6f724a080a060a04746578749a61f9ce");

}  // namespace

TEST_CASE("crc32c gives the published figures") {
  CHECK(crc32c("123456789") == 0xE3069283U);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);    // RFC 3720, B.4
  CHECK(crc32c(std::string(32, '\xff')) == 0x62A8AB43U);  // RFC 3720, B.4
}

TEST_CASE_METHOD(TensorBoardFolder, "a TensorBoard file is what TensorFlow's libraries write") {
  TensorBoardWriter writer(path(), std::nullopt, 7, fixed_time);
  writer.on(StepEvent{.step = 299});  // not logged
  writer.on(
      StepEvent{.step = 300, .share = 1, .loss = 2.5, .lr = 0.001, .grad_norm = 0.75, .tokens_per_second = 45000});
  writer.on(EvalEvent{.step = 300, .train_loss = 1.75, .val_loss = 1.875});
  writer.on(SampleEvent{300, "To be\nor"});
  CHECK(only_file() == version_record + step_record + eval_record + text_record);
}

TEST_CASE_METHOD(TensorBoardFolder, "a step of 128 is the first that takes two bytes") {
  TensorBoardWriter writer(path(), std::nullopt, 1, fixed_time);
  writer.on(EvalEvent{.step = 128, .train_loss = {}, .val_loss = 1.875});
  // Field 2 as a varint: seven bits a byte, the lowest first, the highest bit set where more follow.
  CHECK(only_file().find("\x10\x80\x01"s) != std::string::npos);
}

TEST_CASE_METHOD(TensorBoardFolder, "a resumed run's file tells TensorBoard to forget later steps") {
  TensorBoardWriter writer(path(), 300, 1, fixed_time);
  CHECK(only_file() == version_record + start_record);
}

TEST_CASE_METHOD(TestFolder, "a later file comes after those before it by its name, whatever the clock was set to") {
  for (const char* name : {"events.out.tfevents.500.host", "events.out.tfevents.99999999999999999999", "other.900"})
    write_file_atomically(path() / name, "");
  const TensorBoardWriter writer(path(), std::nullopt, 1, fixed_time);
  CHECK(std::ranges::any_of(entries_of(path()),
                            [](const std::string& name) { return name.starts_with("events.out.tfevents.501."); }));
}

TEST_CASE_METHOD(TestFolder, "two writers in the same second have a file each") {
  TensorBoardWriter first(path(), std::nullopt, 1, fixed_time);
  TensorBoardWriter second(path(), std::nullopt, 1, fixed_time);
  const std::vector<std::string> names = entries_of(path());
  CHECK(names.size() == 2);
  for (const std::string& name : names) {
    CHECK_THAT(name, Catch::StartsWith("events.out.tfevents."));
    CHECK(read_file(path() / name) == version_record);
  }
}
