// Runs the node tests of ONNX (a folder a test: model.onnx and test_data_set_N/{input,output}_i.pb)
// through the importer and the reference kernels. Results must have the type, the shape and, within
// rtol 1e-3 and atol 1e-7, the numbers of the files. Tests that are known to fail are listed in a
// file, "name: why" a line; it may only shrink: a listed test that passes fails the run as much as
// one that fails and is not listed.
//   onnx_node_test DATA_FOLDER LIST
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/import/import.h"
#include "runtime/import/onnx_tensor.h"
#include "runtime/op.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

/// The files hold bfloat16 as uint16.
Tensor read_tensor(const fs::path& path, DType declared) {
  static const FolderFiles none("");
  static OnnxExternalData external(none, RelPath::parse("none"));
  const std::string bytes = read_file(path);
  onnx::Tensor message;
  if (!message.ParseFromString(bytes))
    fail(Code::unsupported, path.filename().string(), " is no tensor");
  const Tensor t = onnx_tensor(message, external);
  return declared == DType::bf16 && t.dtype() == DType::u16
             ? Tensor(declared, t.shape(), t.owner(), t.raw())
             : t;
}

/// One call after the other, nothing optimised.
std::vector<Tensor> interpret(const Program& program, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values;
  for (const Value& v : program.values) values.push_back(v.constant);
  for (size_t i = 0; i < program.inputs.size(); ++i) values[program.inputs[i]] = inputs.at(i);
  for (const OpCall& call : program.ops) {
    std::vector<const Tensor*> in;
    for (ValueId id : call.in) in.push_back(id == absent ? nullptr : &values[id]);
    auto out = within(call.name, [&] { return run_reference(*call.op, call.attrs, in); });
    for (size_t i = 0; i < call.out.size(); ++i) {
      if (call.out[i] != absent) values[call.out[i]] = std::move(out.at(i));
    }
  }
  std::vector<Tensor> outputs;
  for (ValueId id : program.outputs) outputs.push_back(values[id]);
  return outputs;
}

double number(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::f64: return t.data<double>()[i];
    case DType::i64: return static_cast<double>(t.data<int64_t>()[i]);
    case DType::u64: return static_cast<double>(t.data<uint64_t>()[i]);
    default: return 0;
  }
}

void check_equal(const Tensor& found, const Tensor& wanted) {
  if (found.spec() != wanted.spec()) {
    fail(Code::numeric, "wrong type or shape: found ", found.spec().str(), ", wanted ",
         wanted.spec().str());
  }
  const bool wide = size_of(found.dtype()) == 8;
  const auto f = wide ? std::vector<float>{} : found.to_floats();
  const auto w = wide ? std::vector<float>{} : wanted.to_floats();
  for (int64_t i = 0; i < found.numel(); ++i) {
    const double a = wide ? number(found, i) : f[i];
    const double b = wide ? number(wanted, i) : w[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::fabs(a - b) <= 1e-7 + 1e-3 * std::fabs(b))) {
      fail(Code::numeric, "wrong number: element ", i, " of ", found.spec().str(), " is ", a,
           ", wanted ", b);
    }
  }
}

void run_test(const fs::path& folder) {
  const Program program = import_onnx(FolderFiles(folder), RelPath::parse("model.onnx"));
  bool any = false;
  for (int set = 0;; ++set) {
    const fs::path data = folder / concat("test_data_set_", set);
    if (!fs::exists(data)) break;
    any = true;
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      inputs.push_back(read_tensor(data / concat("input_", i, ".pb"),
                                   program[program.inputs[i]].declared.dtype));
    }
    const auto outputs = interpret(program, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const DType declared = program[program.outputs[i]].declared.dtype;
      check_equal(outputs[i], read_tensor(data / concat("output_", i, ".pb"), declared));
    }
  }
  if (!any) fail(Code::not_found, "there is no test data");
}

std::set<std::string> read_list(const std::string& path) {
  std::set<std::string> names;
  const std::string text = read_file(path);
  for (std::string_view line : lines(text)) {
    if (!line.empty() && line[0] != '#') names.emplace(split(line, ':')[0]);
  }
  return names;
}

int run_all(const std::string& folder, const std::string& list) {
  auto listed = read_list(list);
  std::set<fs::path> tests;
  for (const auto& entry : fs::directory_iterator(folder)) tests.insert(entry.path());
  int passed = 0;
  int surprises = 0;
  for (const fs::path& test : tests) {
    const std::string name = test.filename();
    const bool known = listed.erase(name) > 0;
    std::string why;
    try {
      run_test(test);
    } catch (const std::exception& e) {
      why = e.what();
    }
    if (why.empty()) ++passed;
    if (why.empty() == known) {
      ++surprises;
      std::printf("%s\n",
                  (known ? concat(name, ": passes, take it off the list") : concat(name, ": ", why))
                      .c_str());
    }
  }
  for (const std::string& name : listed)
    std::printf("%s: is on the list, there is no such test\n", name.c_str());
  std::printf("passed %d of %zu\n", passed, tests.size());
  return surprises == 0 && listed.empty() && !tests.empty() ? 0 : 1;
}

}  // namespace
}  // namespace hub

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: onnx_node_test DATA_FOLDER LIST\n");
    return 2;
  }
  try {
    return hub::run_all(argv[1], argv[2]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "onnx_node_test: %s\n", e.what());
    return 1;
  }
}
