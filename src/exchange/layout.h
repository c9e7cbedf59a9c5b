// Where another program keeps each of our parameters: one table for each layout, read in both directions. Knows no
// file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/foreign_tensors.h"
#include "exchange/imported_model.h"
#include "inference/model.h"
#include "inference/parameter_list.h"

namespace chargpt {

/// A layer of ours and its name there; queries, keys and values may have three.
struct LayerNames {
  std::string_view ours;  ///< "attn.c_proj"
  std::array<std::string_view, 3> theirs;
};

struct Layout {
  std::string_view block{};                      ///< "model.layers.": what precedes the number of a block
  std::span<const LayerNames> layers{};          ///< empty: all have the names they have here
  bool turned = false;                           ///< linear layers have weights (in, out)
  bool paired = false;                           ///< rotary pairs are neighbours, where ours are halves of a head
  std::array<std::string_view, 2> head_gains{};  ///< of each block, over the features of a head, where ours are 1
};

/// A tensor of theirs and the parameter of ours that it is, or is a part of.
struct LayoutRow {
  std::string theirs;
  ParameterInfo ours;  ///< without a name: a gain that is 1, for which we have no parameter
  std::int64_t part = 0, parts = 1;
  bool turned = false, paired = false;
};

/// `theirs`: the options of our model that has a parameter wherever theirs has one.
std::vector<LayoutRow> rows_of(const Layout& layout, const ModelConfig& theirs, std::int64_t symbols);

/// What is to be written, row by row. Where the model lacks a gain or a bias, the 1 or 0 that does the same.
std::vector<OwnTensor> tensors_as_theirs(const InferenceModel& model, const std::vector<LayoutRow>& rows);

/// How to read: symbols are `symbols[id]` there for our id; `shared_heads` of keys and values belong to `heads`.
struct ReadingOrder {
  std::span<const std::int64_t> symbols;
  std::int64_t heads = 1, shared_heads = 1;
};
/// The parameters that the rows make. Error data where two rows that are one parameter differ, or a constant is not 1;
/// else as ForeignTensors::read.
std::vector<OwnTensor> tensors_as_ours(ForeignTensors& tensors, const std::vector<LayoutRow>& rows,
                                       const ReadingOrder& order);

}  // namespace chargpt
