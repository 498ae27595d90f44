// Lists in files: sequences of ONNX and tensor arrays of Paddle (sequence_import.cc).
#pragma once

namespace hub {

class ImportNode;

void onnx_sequence_empty(ImportNode& n);
void onnx_sequence_map(ImportNode& n);
/// The importer gives the array as it was before in slot Array.
void paddle_write_array(ImportNode& n);
void paddle_read_array(ImportNode& n);
void paddle_array_length(ImportNode& n);
void paddle_join_array(ImportNode& n);

}  // namespace hub
