// ncnn networks: the layers of a .param file, one a line, with the import rules of
// runtime/ops/ncnn_import.cc; their weights lie in the .bin file one after the other. Blobs of ncnn
// are single pictures [C, H, W]; here they get a batch in front.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "runtime/budget.h"
#include "runtime/import/import.h"
#include "runtime/import/node.h"
#include "runtime/tensor_bytes.h"

namespace hub {
namespace {

/// A parameter of a layer, `key=value` in the file: i a whole number, f a number, l a list.
struct Parameter {
  int key;
  const char* name;
  char type;
};
/// Numbers in the .bin file, as many as parameter `count` says.
struct Weights {
  const char* count;
  bool tagged;            ///< a tag in front says their type
  const char* when = "";  ///< they are there when this parameter is not 0
};
struct Layer {
  const char* type;
  int inputs;  ///< -1: any number but none
  std::vector<Parameter> parameters = {};
  std::vector<Weights> weights = {};
};

const std::vector<Layer>& layers() {
  static const std::vector<Parameter> conv = {
      {0, "outputs", 'i'},    {1, "kernel_w", 'i'},
      {2, "dilation_w", 'i'}, {3, "stride_w", 'i'},
      {4, "pad_left", 'i'},   {5, "bias", 'i'},
      {6, "size", 'i'},       {7, "group", 'i'},
      {9, "activation", 'i'}, {10, "activation_params", 'l'},
      {11, "kernel_h", 'i'},  {12, "dilation_h", 'i'},
      {13, "stride_h", 'i'},  {14, "pad_top", 'i'},
      {15, "pad_right", 'i'}, {16, "pad_bottom", 'i'}};
  static const std::vector<Weights> filter = {{"size", true}, {"outputs", false, "bias"}};
  static const std::vector<Layer> all = {
      {"Input", 0, {{0, "width", 'i'}, {1, "height", 'i'}, {2, "channels", 'i'}}},
      {"Split", 1},
      {"Noop", 1},
      {"Dropout", 1},
      {"Convolution", 1, conv, filter},
      {"ConvolutionDepthWise", 1, conv, filter},
      {"PReLU", 1, {{0, "slopes", 'i'}}, {{"slopes", false}}},
      {"ReLU", 1, {{0, "slope", 'f'}}},
      {"Clip", 1, {{0, "min", 'f'}, {1, "max", 'f'}}},
      {"Sigmoid", 1},
      {"TanH", 1},
      {"PixelShuffle", 1, {{0, "factor", 'i'}, {1, "mode", 'i'}}},
      {"Interp",
       1,
       {{0, "kind", 'i'},
        {1, "scale_h", 'f'},
        {2, "scale_w", 'f'},
        {3, "height", 'i'},
        {4, "width", 'i'},
        {6, "align_corners", 'i'}}},
      {"BinaryOp", -1, {{0, "kind", 'i'}, {1, "scalar", 'i'}, {2, "b", 'f'}}},
      {"Eltwise", -1, {{0, "kind", 'i'}, {1, "factors", 'l'}}},
      {"Concat", -1, {{0, "axis", 'i'}}}};
  return all;
}

/// What marks a list in a key: -23301=2,0.2,1 is parameter 1.
constexpr int list_key = -23300;

int whole(std::string_view text, std::string_view what) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(Code::refused, what, " is '", printable(text.substr(0, 40)),
         "', a whole number is wanted");
  return value;
}

double real(std::string_view text, std::string_view what) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(Code::refused, what, " is '", printable(text.substr(0, 40)), "', a number is wanted");
  return value;
}

std::vector<double> reals(std::string_view text, std::string_view what) {
  const auto parts = split(text, ',');
  const int count = whole(parts.at(0), concat("the length of ", what));
  if (count < 0 || static_cast<size_t>(count) != parts.size() - 1)
    fail(Code::refused, what, " says ", count, " numbers and has ", parts.size() - 1);
  std::vector<double> values;
  for (size_t i = 1; i < parts.size(); ++i) values.push_back(real(parts[i], what));
  return values;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  for (const std::string_view word : split(line, ' '))
    if (!trim(word).empty()) found.push_back(trim(word));
  return found;
}

/// The weights of a network, read from the front.
class WeightFile {
 public:
  explicit WeightFile(const MappedFile& file) : file_(file) {}

  Tensor next(int count, bool tagged) {
    if (count < 1) fail(Code::refused, "it has ", count, " weights");
    uint32_t tag = 0;
    if (tagged) std::memcpy(&tag, take(sizeof tag).data(), sizeof tag);
    constexpr uint32_t half = 0x01306B47, integers = 0x000D4B38, floats = 0x0002C056;
    if (tag == integers) fail(Code::unsupported, "weights of 8-bit integers are not read yet");
    if (tag != 0 && tag != half && tag != floats)
      fail(Code::unsupported, "at byte ", at_ - 4, ": weights of kind ", tag, " are not read yet");
    const Spec spec{tag == half ? DType::f16 : DType::f32, {count}};
    const size_t bytes = bytes_of(spec);
    const auto found = take((bytes + 3) / 4 * 4);
    return tensor_from_bytes(spec, found.first(bytes), file_.owner());
  }
  void done() const {
    if (at_ != file_.size())
      fail(Code::refused, "the weights end at byte ", at_, " of ", file_.size(),
           "; they may belong to another network");
  }

 private:
  std::span<const std::byte> take(size_t size) {
    if (size > file_.size() - at_)
      fail(Code::refused, "at byte ", at_, ": its weights need ", size, " bytes, the file has ",
           file_.size() - at_, " more");
    at_ += size;
    return file_.bytes().subspan(at_ - size, size);
  }
  const MappedFile& file_;
  size_t at_ = 0;
};

class Importer {
 public:
  Importer(std::string_view text, const MappedFile& weights) : text_(text), weights_(weights) {}

  Program import() {
    const auto rows = lines(text_);
    if (rows.empty() || trim(rows[0]) != "7767517")
      fail(Code::refused, "its first line is not 7767517, the mark of ncnn's .param files");
    const auto counts = words(rows.size() > 1 ? rows[1] : "");
    if (counts.size() != 2) fail(Code::refused, "line 2 is not the numbers of layers and blobs");
    const int wanted = whole(counts[0], "the number of layers");
    int found = 0;
    for (size_t i = 2; i < rows.size(); ++i) {
      const auto row = words(rows[i]);
      if (row.empty()) continue;
      within(concat("line ", i + 1), [&] { add(row); });
      ++found;
    }
    if (found != wanted) fail(Code::refused, found, " layers where line 2 says ", wanted);
    weights_.done();
    add_outputs();
    program_.check();
    return std::move(program_);
  }

 private:
  struct Blob {
    std::string name;
    Var var;
    bool read = false;
  };

  /// type, name, numbers of inputs and outputs, their names, parameters.
  void add(const std::vector<std::string_view>& row) {
    if (row.size() < 4) fail(Code::refused, "a layer without the numbers of its blobs");
    const Layer* layer = nullptr;
    for (const Layer& l : layers())
      if (row[0] == l.type) layer = &l;
    if (layer == nullptr)
      fail(Code::unsupported, "layer ", printable(row[0]), " '", printable(row[1]),
           "' cannot be imported yet");
    within(concat(layer->type, " '", printable(row[1]), "'"), [&] { add(*layer, row); });
  }

  void add(const Layer& layer, const std::vector<std::string_view>& row) {
    const int64_t inputs = whole(row[2], "the number of inputs");
    const int64_t outputs = whole(row[3], "the number of outputs");
    const auto names = static_cast<int64_t>(row.size()) - 4;
    if (inputs < 0 || outputs < 1 || inputs + outputs > names)
      fail(Code::refused, inputs, " inputs and ", outputs, " outputs, and ", names, " words");
    if (layer.inputs < 0 ? inputs < 1 : inputs != layer.inputs)
      fail(Code::unsupported, inputs, " inputs");
    ImportNode node(program_, layer.type, std::string(row[1]), 0);
    node.wanted_outputs = static_cast<size_t>(outputs);
    const auto first = row.begin() + 4;
    for (auto name = first; name != first + inputs; ++name) node.positional_.push_back(read(*name));
    for (auto word = first + inputs + outputs; word != row.end(); ++word)
      set_parameter(layer, *word, node.attrs);
    for (const Weights& w : layer.weights) {
      if (*w.when != '\0' && node.attrs.i(w.when, 0) == 0) continue;
      const auto count = static_cast<int>(node.attrs.i(w.count, 0));
      node.positional_.push_back(constant(program_, weights_.next(count, w.tagged)));
    }
    if (layer.inputs == 0) {
      add_input(node, std::string(first[0]));
    } else {
      find_import(concat("ncnn:", layer.type))->make(node);
    }
    for (size_t i = 0; i < node.wanted_outputs; ++i) {
      const auto made = node.out_positional_.find(i);
      if (made == node.out_positional_.end()) fail(Code::unsupported, outputs, " outputs");
      write(std::string(first[inputs + static_cast<int64_t>(i)]), made->second);
    }
  }

  static void set_parameter(const Layer& layer, std::string_view word, Attrs& attrs) {
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos)
      fail(Code::refused, "'", printable(word.substr(0, 40)), "' is no parameter (key=value)");
    int key = whole(word.substr(0, equals), "the key of a parameter");
    const std::string_view text = word.substr(equals + 1);
    const bool list = key <= list_key && key > 2 * list_key;
    if (list) key = list_key - key;
    for (const Parameter& p : layer.parameters) {
      if (p.key != key || (p.type == 'l') != list) continue;
      const std::string what = concat("parameter ", key, " (", p.name, ")");
      if (attrs.has(p.name)) fail(Code::refused, what, " is there twice");
      if (p.type == 'l') return attrs.set(p.name, reals(text, what));
      if (p.type == 'f') return attrs.set(p.name, real(text, what));
      return attrs.set(p.name, int64_t{whole(text, what)});
    }
    fail(Code::unsupported, list ? "list " : "parameter ", key, " cannot be imported yet");
  }

  /// 0 or nothing: any size.
  void add_input(ImportNode& node, const std::string& name) {
    Shape shape{-1};
    for (const char* key : {"channels", "height", "width"}) {
      const int64_t size = node.attrs.i(key, 0);
      if (size < 0) fail(Code::refused, "its ", key, " is ", size);
      shape.push_back(size == 0 ? -1 : size);
    }
    node.out(0, {&program_, program_.add_input(name, {DType::f32, shape})});
  }

  Var read(std::string_view name) {
    const auto it = at_.find(name);
    if (it == at_.end())
      fail(Code::refused, "blob '", printable(name), "' is read before anything writes it");
    blobs_[it->second].read = true;
    return blobs_[it->second].var;
  }

  void write(const std::string& name, Var var) {
    if (!at_.emplace(name, blobs_.size()).second)
      fail(Code::refused, "blob '", printable(name), "' is written twice");
    if (program_[var.id].name.starts_with('%')) program_.rename(var.id, name);
    blobs_.push_back({name, var});
  }

  /// The blobs that nothing reads.
  void add_outputs() {
    for (const Blob& blob : blobs_) {
      if (blob.read) continue;
      Var var = blob.var;
      const auto& inputs = program_.inputs;
      const bool input = std::find(inputs.begin(), inputs.end(), var.id) != inputs.end();
      if (input || program_[var.id].name != blob.name) {  // it is another value's second name
        var = apply("identity", {var});
        program_.rename(var.id, blob.name);
      }
      program_.outputs.push_back(var.id);
    }
    if (program_.outputs.empty()) fail(Code::refused, "it has no layers");
  }

  std::string_view text_;
  WeightFile weights_;
  std::map<std::string, size_t, std::less<>> at_;
  std::vector<Blob> blobs_;
  Program program_;
};

}  // namespace

Program import_ncnn(const Files& files, const RelPath& layers, const RelPath& weights) {
  const MappedFile text = files.open(layers), numbers = files.open(weights);
  return in_memory([&] { return Importer(text.text(), numbers).import(); });
}

}  // namespace hub
