// Files in: network formats become programs, weight formats become named tensors. Any bytes in; out
// comes a program or a clear refusal, in memory bounded by the size of the file.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file.h"
#include "runtime/program.h"

namespace hub {

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

/// An ONNX model. External data is read through `files` only. Initializers that are also graph
/// inputs are constants.
Program import_onnx(const Files& files, const RelPath& path);

/// A Paddle (Fluid) program. `params` empty: one file a parameter beside `program`; otherwise the
/// combined file.
Program import_paddle(const Files& files, const RelPath& program, const std::string& params);

/// A TensorFlow Lite model; pictures are [N, H, W, C] as in the file.
Program import_tflite(const MappedFile& file);

/// An ncnn network: its layers as text (.param) and its weights (.bin); pictures are [N, C, H, W].
Program import_ncnn(const Files& files, const RelPath& layers, const RelPath& weights);

/// By what the file is (magic bytes and names), for `hub infer FILE` and `hub inspect FILE`.
Program import_file(const std::string& path);

/// Tensors view the mapped file. Same verdict as the reference implementation on every file.
NamedTensors read_safetensors(const MappedFile& file);

/// A PyTorch checkpoint, zip or legacy container: a state_dict, or one below "state_dict", "model"
/// / "model_state"; or arrays of NumPy, an .npz archive or a pickled dictionary. A restricted
/// reader: dictionaries, lists, numbers, strings, tensors and arrays; any other opcode or global is
/// refused by name.
NamedTensors read_checkpoint(const MappedFile& file);

/// The data sets of an HDF5 file as Keras saves weights, by their path ("group/name"). A bounded
/// reader of that subset: old-style groups and headers, numbers contiguous or in deflated chunks;
/// attributes are not looked at, links out of the file are refused.
NamedTensors read_hdf5(const MappedFile& file);

using PickledItem = std::variant<int64_t, std::vector<std::string>>;
/// A pickled dictionary from texts to whole numbers or lists of texts, by the same reader; of equal
/// keys the last one counts.
std::map<std::string, PickledItem, std::less<>> read_pickled_table(const MappedFile& file);

/// NumPy .npy files: little-endian C order, and Fortran order on reading.
Tensor read_npy(const MappedFile& file);
/// The same from the bytes of one; `owner` keeps them alive.
Tensor read_npy(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner);
std::string write_npy(const Tensor& tensor);

}  // namespace hub
