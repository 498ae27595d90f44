// What operators on lists share, and lists in files: sequences of ONNX and tensor arrays of Paddle
// (sequence_import.cc).
#pragma once

#include "runtime/op.h"

namespace hub {

/// An operator that takes or gives lists, with what holds for all of them.
OpDef list_op(std::string_view name, int min_inputs, int max_inputs,
              std::vector<Spec> (*infer)(const Infer&), decltype(OpDef::run) run,
              std::vector<Import> imports);

void onnx_sequence_empty(ImportNode& n);
void onnx_sequence_map(ImportNode& n);
/// The importer gives the array as it was before in slot Array.
void paddle_write_array(ImportNode& n);
void paddle_read_array(ImportNode& n);
void paddle_array_length(ImportNode& n);
void paddle_join_array(ImportNode& n);

}  // namespace hub
