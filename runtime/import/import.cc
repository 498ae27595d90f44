// What kind of network a file is: told by its first bytes, and by the names beside it.
#include "runtime/import/import.h"

#include "base/error.h"

namespace hub {
namespace {

struct Magic {
  size_t at;
  std::string_view bytes;
  std::string_view advice;
};
const Magic known[] = {
    {0, std::string_view("PK\3\4"),
     "it is a PyTorch checkpoint or another zip archive: weights, which need a module that says "
     "their architecture"},
    {0, std::string_view("\x80\2"),
     "it is a pickle (a PyTorch checkpoint?): weights, which need a module that says their "
     "architecture"},
    {0, std::string_view("\x80\4"), "it is a pickle: a program in disguise, which is never run"},
    {8, std::string_view("{\""),
     "it is a safetensors file: weights, which need a module that says their architecture"},
    {0, std::string_view("{"),
     "it is JSON: if a PIR program of Paddle 3, export it again with FLAGS_enable_pir_api=0"},
    {0, std::string_view("\x89HDF"), "it is an HDF5 (Keras) file; convert it to ONNX"},
    {0, std::string_view("GGUF"), "it is a GGUF file; convert it to ONNX or safetensors"},
    {0, std::string_view("\x93NUMPY"), "it is an array of NumPy, not a network"},
};

/// The names that a Paddle program and its parameters have in one folder; no parameters: a file for
/// each.
struct Pair {
  std::string_view program, params;
};
constexpr Pair pairs[] = {{"inference.pdmodel", "inference.pdiparams"},
                          {"model.pdmodel", "model.pdiparams"},
                          {"__model__", "__params__"},
                          {"__model__", ""},
                          {"model", "params"},
                          {"model", "weights"}};

/// The parameters of the program called so; empty: separate files.
std::string params_of(const Files& files, const std::string& program) {
  constexpr std::string_view ending = ".pdmodel";
  if (program.ends_with(ending))
    return program.substr(0, program.size() - ending.size()) + ".pdiparams";
  for (const Pair& pair : pairs)
    if (pair.program == program && !pair.params.empty() && files.has(RelPath::parse(pair.params)))
      return std::string(pair.params);
  return {};
}

Program import_folder(const std::string& path) {
  const FolderFiles files(path);
  const auto has = [&](std::string_view name) {
    return !name.empty() && files.has(RelPath::parse(name));
  };
  for (const Pair& pair : pairs)
    if (has(pair.program) && (pair.params.empty() || has(pair.params)))
      return import_paddle(files, RelPath::parse(pair.program), std::string(pair.params));
  if (has("model.onnx")) return import_onnx(files, RelPath::parse("model.onnx"));
  if (has("inference.json"))
    fail(Code::unsupported, path,
         ": inference.json is a PIR program of Paddle 3; export it again with "
         "FLAGS_enable_pir_api=0");
  fail(Code::not_found, path,
       " holds no network that can be imported: model.onnx, __model__ or inference.pdmodel with "
       "its parameters");
}

}  // namespace

Program import_file(const std::string& path) {
  if (is_folder(path)) return import_folder(path);
  const size_t slash = path.rfind('/');
  const bool bare = slash == std::string::npos;
  const RelPath name = RelPath::parse(std::string_view(path).substr(bare ? 0 : slash + 1));
  const FolderFiles files(bare ? "." : slash == 0 ? "/" : path.substr(0, slash));
  const MappedFile file = files.open(name);
  const std::string_view text = file.text();
  for (const Magic& magic : known)
    if (text.size() >= magic.at && text.substr(magic.at).starts_with(magic.bytes))
      fail(Code::unsupported, path, ": ", magic.advice);
  if (text.size() > 8 && text.substr(4).starts_with("TFL3"))
    return within(path, [&] { return import_tflite(file); });
  if (text.starts_with("7767517")) {
    const std::string stem = name.str().substr(0, name.str().rfind('.'));
    return within(path, [&] { return import_ncnn(files, name, RelPath::parse(stem + ".bin")); });
  }
  // An ONNX file begins with its IR version (field 1, a number), a Paddle program with a block
  // (field 1, a message).
  if (name.str().ends_with(".onnx") || text.starts_with('\x08')) return import_onnx(files, name);
  if (name.str().ends_with(".pdmodel") || text.starts_with('\x0a'))
    return import_paddle(files, name, params_of(files, name.str()));
  fail(Code::refused, path, " is no ONNX model, no Paddle program, no TensorFlow Lite model and no ncnn network");
}

}  // namespace hub
