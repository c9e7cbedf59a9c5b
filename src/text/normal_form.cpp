#include "text/normal_form.h"

#include <algorithm>
#include <array>

namespace chargpt {
namespace {

struct Block {
  char32_t first, last;
};

/// Outside of these every character has canonical combining class 0 and NFC_Quick_Check=Yes in Unicode 14; gaps of up
/// to 16 between them are closed. In order.
constexpr std::array<Block, 131> doubtful_blocks{
    {{0x0300, 0x0387},   {0x0483, 0x0487},   {0x0591, 0x05C7},   {0x0610, 0x061A},   {0x064B, 0x065F},
     {0x0670, 0x0670},   {0x06D6, 0x06ED},   {0x0711, 0x0711},   {0x0730, 0x074A},   {0x07EB, 0x07FD},
     {0x0816, 0x082D},   {0x0859, 0x085B},   {0x0898, 0x089F},   {0x08CA, 0x08FF},   {0x093C, 0x093C},
     {0x094D, 0x095F},   {0x09BC, 0x09DF},   {0x09FE, 0x09FE},   {0x0A33, 0x0A3C},   {0x0A4D, 0x0A5E},
     {0x0ABC, 0x0ABC},   {0x0ACD, 0x0ACD},   {0x0B3C, 0x0B5D},   {0x0BBE, 0x0BD7},   {0x0C3C, 0x0C3C},
     {0x0C4D, 0x0C56},   {0x0CBC, 0x0CD6},   {0x0D3B, 0x0D57},   {0x0DCA, 0x0DDF},   {0x0E38, 0x0E4B},
     {0x0EB8, 0x0ECB},   {0x0F18, 0x0F19},   {0x0F35, 0x0FC6},   {0x102E, 0x103A},   {0x108D, 0x108D},
     {0x1161, 0x1175},   {0x11A8, 0x11C2},   {0x135D, 0x135F},   {0x1714, 0x1715},   {0x1734, 0x1734},
     {0x17D2, 0x17DD},   {0x18A9, 0x18A9},   {0x1939, 0x193B},   {0x1A17, 0x1A18},   {0x1A60, 0x1A60},
     {0x1A75, 0x1A7F},   {0x1AB0, 0x1ACE},   {0x1B34, 0x1B44},   {0x1B6B, 0x1B73},   {0x1BAA, 0x1BAB},
     {0x1BE6, 0x1BF3},   {0x1C37, 0x1C37},   {0x1CD0, 0x1CF9},   {0x1DC0, 0x1DFF},   {0x1F71, 0x1F7D},
     {0x1FBB, 0x2001},   {0x20D0, 0x20F0},   {0x2126, 0x212B},   {0x2329, 0x232A},   {0x2ADC, 0x2ADC},
     {0x2CEF, 0x2CF1},   {0x2D7F, 0x2D7F},   {0x2DE0, 0x2DFF},   {0x302A, 0x302F},   {0x3099, 0x309A},
     {0xA66F, 0xA67D},   {0xA69E, 0xA69F},   {0xA6F0, 0xA6F1},   {0xA806, 0xA806},   {0xA82C, 0xA82C},
     {0xA8C4, 0xA8C4},   {0xA8E0, 0xA8F1},   {0xA92B, 0xA92D},   {0xA953, 0xA953},   {0xA9B3, 0xA9C0},
     {0xAAB0, 0xAAC1},   {0xAAF6, 0xAAF6},   {0xABED, 0xABED},   {0xF900, 0xFAD9},   {0xFB1D, 0xFB4E},
     {0xFE20, 0xFE2F},   {0x101FD, 0x101FD}, {0x102E0, 0x102E0}, {0x10376, 0x1037A}, {0x10A0D, 0x10A0F},
     {0x10A38, 0x10A3F}, {0x10AE5, 0x10AE6}, {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10F46, 0x10F50},
     {0x10F82, 0x10F85}, {0x11046, 0x11046}, {0x11070, 0x1107F}, {0x110B9, 0x110BA}, {0x11100, 0x11102},
     {0x11127, 0x11134}, {0x11173, 0x11173}, {0x111C0, 0x111CA}, {0x11235, 0x11236}, {0x112E9, 0x112EA},
     {0x1133B, 0x11374}, {0x11442, 0x11446}, {0x1145E, 0x1145E}, {0x114B0, 0x114C3}, {0x115AF, 0x115C0},
     {0x1163F, 0x1163F}, {0x116B6, 0x116B7}, {0x1172B, 0x1172B}, {0x11839, 0x1183A}, {0x11930, 0x11943},
     {0x119E0, 0x119E0}, {0x11A34, 0x11A34}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11C3F, 0x11C3F},
     {0x11D42, 0x11D45}, {0x11D97, 0x11D97}, {0x16AF0, 0x16AF4}, {0x16B30, 0x16B36}, {0x16FF0, 0x16FF1},
     {0x1BC9E, 0x1BC9E}, {0x1D15E, 0x1D18B}, {0x1D1AA, 0x1D1C0}, {0x1D242, 0x1D244}, {0x1E000, 0x1E02A},
     {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E8D0, 0x1E8D6}, {0x1E944, 0x1E94A},
     {0x2F800, 0x2FA1D}}};

struct Mark {
  char32_t mark;
  std::u32string_view letters;  ///< ASCII and Cyrillic ones that NFC joins with it, in order
};
constexpr std::array<Mark, 26> marks{{{0x0300, U"AEINOUWYaeinouwyЕИеи"},
                                      {0x0301, U"ACEGIKLMNOPRSUWYZacegiklmnoprsuwyzГКгк"},
                                      {0x0302, U"ACEGHIJOSUWYZaceghijosuwyz"},
                                      {0x0303, U"AEINOUVYaeinouvy"},
                                      {0x0304, U"AEGIOUYaegiouyИУиу"},
                                      {0x0306, U"AEGIOUaegiouАЕЖИУаежиу"},
                                      {0x0307, U"ABCDEFGHIMNOPRSTWXYZabcdefghmnoprstwxyz"},
                                      {0x0308, U"AEHIOUWXYaehiotuwxyІАЕЖЗИОУЧЫЭаежзиоучыэі"},
                                      {0x0309, U"AEIOUYaeiouy"},
                                      {0x030A, U"AUauwy"},
                                      {0x030B, U"OUouУу"},
                                      {0x030C, U"ACDEGHIKLNORSTUZacdeghijklnorstuz"},
                                      {0x030F, U"AEIORUaeioru"},
                                      {0x0311, U"AEIORUaeioru"},
                                      {0x031B, U"OUou"},
                                      {0x0323, U"ABDEHIKLMNORSTUVWYZabdehiklmnorstuvwyz"},
                                      {0x0324, U"Uu"},
                                      {0x0325, U"Aa"},
                                      {0x0326, U"STst"},
                                      {0x0327, U"CDEGHKLNRSTcdeghklnrst"},
                                      {0x0328, U"AEIOUaeiou"},
                                      {0x032D, U"DELNTUdelntu"},
                                      {0x032E, U"Hh"},
                                      {0x0330, U"EIUeiu"},
                                      {0x0331, U"BDKLNRTZbdhklnrtz"},
                                      {0x0338, U"<=>"}}};

bool is_doubtful(char32_t character) {
  const auto block = std::ranges::lower_bound(doubtful_blocks, character, {}, &Block::last);
  return block != doubtful_blocks.end() && character >= block->first;
}

bool joins(char32_t letter, char32_t mark) {
  const auto found = std::ranges::lower_bound(marks, mark, {}, &Mark::mark);
  return found != marks.end() && found->mark == mark && found->letters.find(letter) != std::u32string_view::npos;
}

}  // namespace

void NormalFormCheck::add(char32_t character) {
  if (character >= doubtful_blocks[0].first && is_doubtful(character)) {
    ++doubtful_;
    pairs_ += joins(before_, character);
  }
  before_ = character;
}

NormalForm NormalFormCheck::form() const {
  return pairs_ > 0 ? NormalForm::decomposed : doubtful_ > 0 ? NormalForm::unknown : NormalForm::composed;
}

}  // namespace chargpt
