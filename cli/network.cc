#include "cli/network.h"

#include <map>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/source.h"
#include "cli/terminal.h"

namespace hub {
namespace {

/// The only network of a module, or the one that is asked for.
std::string network_name(const Manifest& manifest, const std::string& asked) {
  if (!asked.empty()) return asked;
  if (manifest.networks.size() == 1) return manifest.networks.begin()->first;
  std::vector<std::string> names;
  for (const auto& [name, spec] : manifest.networks) names.push_back(name);
  fail(Code::usage, manifest.id(), " has several networks; --network ", one_of(names),
       " is wanted");
}

/// "NAME=VALUE", or "VALUE" when there is one input: which input, and where the value begins.
std::pair<size_t, std::string> input_word(std::string_view option, const std::string& word,
                                          const std::string& wanted, const Session& session) {
  const size_t equals = word.find('=');
  if (equals != std::string::npos)
    return {session.input_index(word.substr(0, equals)), word.substr(equals + 1)};
  const size_t inputs = session.program().inputs.size();
  if (inputs != 1)
    fail(Code::usage, option, " ", word, ": the network has ", inputs, " inputs, NAME=", wanted,
         " is wanted");
  return {0, word};
}

Shape shape_of(const std::string& text) {
  Shape shape;
  for (std::string_view part : split(text, 'x'))
    shape.push_back(whole_number("a dimension of --shape", part, 0));
  return shape;
}

Tensor made_up(const Value& input, Shape shape) {
  const DType dtype = input.declared.dtype;
  if (dtype == DType::none || dtype == DType::list)
    fail(Code::usage, "input '", input.name, "' has no declared type; --in ", input.name,
         "=FILE.npy is wanted");
  for (size_t d = 0; d < shape.rank(); ++d) shape[d] = shape[d] < 0 ? 1 : shape[d];
  Tensor numbers(DType::f32, shape);
  const bool real =
      dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
  SplitMix64 random(1);
  for (int64_t i = 0; i < numbers.numel(); ++i)
    numbers.data<float>()[i] = real ? static_cast<float>(random.next() >> 40) * 0x1p-24F : 1;
  const Attrs attrs{{"to", std::string(name_of(dtype))}};
  const Tensor* in[] = {&numbers};
  return run_reference(*find_op("cast"), attrs, in)[0];
}

}  // namespace

Network::Network(const Args& args, Context& context, std::string device)
    : device_(std::move(device)) {
  name_ = args.text("source");
  const auto request = module_request(name_);
  if (!request) return;
  hub_.emplace(context.settings(), context.terminal);
  module_ = Module::open(hub_->need(*request), context.terminal, device_);
  name_ = network_name(module_->manifest(), args.text("--network"));
}

std::string Network::title() const {
  return module_ ? concat(module_->manifest().id(), " ", name_) : name_;
}

Program Network::program() const { return module_ ? module_->program(name_) : import_file(name_); }

Session& Network::session() {
  if (module_) return module_->network(name_);
  if (!session_) session_.emplace(program(), SessionOptions{device_, {}, {}});
  return *session_;
}

std::string Network::onnx_file(const std::string& folder) const {
  if (!module_) {
    if (!name_.ends_with(".onnx")) fail(Code::usage, name_, " is no .onnx file");
    return name_;
  }
  const auto& networks = module_->manifest().networks;
  const auto it = networks.find(name_);
  if (it == networks.end() || it->second.format != "onnx")
    fail(Code::usage, title(), " is not made from an ONNX file");
  const std::string path = folder + "/network.onnx";
  write_file(path, module_->files().open(it->second.file).text());
  return path;
}

std::vector<Tensor> given_inputs(const Args& args, const Session& session) {
  std::vector<Tensor> inputs(session.program().inputs.size());
  for (const auto& word : args.list("--in")) {
    const auto [index, path] = input_word("--in", word, "FILE.npy", session);
    inputs[index] = within(path, [&] { return read_npy(MappedFile::open(path)); });
  }
  return inputs;
}

void make_up_inputs(const Args& args, const Session& session, std::vector<Tensor>& inputs) {
  const Program& p = session.program();
  std::map<size_t, Shape> shapes;
  for (const auto& word : args.list("--shape")) {
    const auto [index, text] = input_word("--shape", word, "1x3x224x224", session);
    if (inputs[index]) fail(Code::usage, "--shape ", word, ": --in gives that input already");
    shapes[index] = shape_of(text);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& v = p[p.inputs[i]];
    const auto it = shapes.find(i);
    if (!inputs[i]) inputs[i] = made_up(v, it != shapes.end() ? it->second : v.declared.shape);
  }
}

}  // namespace hub
