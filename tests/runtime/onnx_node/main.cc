// Runs tests of ONNX (a folder a test: model.onnx and test_data_set_N/{input,output}_i.pb) through
// the importer, once call by call with the reference kernels and once as a session. Results must
// have the type, the shape and, within rtol 1e-3 and atol 1e-7, the numbers of the files; those of
// the session within 1e-3. Tests that are known to fail are listed in a file, "name: why" a line;
// it may only shrink: a listed test that passes fails the run as much as one that fails and is not
// listed.
//   onnx_node_test DATA_FOLDER LIST
#include <cstdio>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/block.h"
#include "runtime/import/import.h"
#include "runtime/session.h"
#include "tests/runtime/onnx_node/values.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

using Types = std::vector<onnx::Type>;

onnx::Graph read_graph(const fs::path& file) {
  onnx::Model model;
  if (!model.ParseFromString(read_file(file))) fail(Code::unsupported, "it cannot be parsed");
  return model.graph();
}

/// The types of the inputs that are not initializers; or of the outputs.
Types input_types(const onnx::Graph& graph) {
  std::set<std::string> initialized;
  for (const onnx::Tensor& t : graph.initializer()) initialized.insert(t.name());
  Types types;
  for (const onnx::ValueInfo& info : graph.input())
    if (!initialized.contains(info.name())) types.push_back(info.type());
  return types;
}
Types output_types(const onnx::Graph& graph) {
  Types types;
  for (const onnx::ValueInfo& info : graph.output()) types.push_back(info.type());
  return types;
}

std::vector<Tensor> read_values(const fs::path& folder, const char* kind, const Types& types) {
  std::vector<Tensor> values;
  for (const onnx::Type& type : types)
    values.push_back(read_value(folder / concat(kind, "_", values.size(), ".pb"), type));
  return values;
}

/// A session for inputs that are not always of the shape that the model declares
/// (test_castlike_BFLOAT16_to_FLOAT).
Session session_of(Program program) {
  for (ValueId id : program.inputs) program[id].declared = {};
  return Session(std::move(program), {.device = "cpu", .pack_file = {}, .states = {}});
}

void check_all(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted,
               double absolute) {
  for (size_t i = 0; i < wanted.size(); ++i)
    within(concat("output ", i), [&] { check_equal(found.at(i), wanted[i], 1e-3, absolute); });
}

void run_test(const fs::path& folder) {
  const auto program = std::make_shared<const Program>(
      import_onnx(FolderFiles(folder), RelPath::parse("model.onnx")));
  const onnx::Graph graph = read_graph(folder / "model.onnx");
  Session session = session_of(*program);
  for (int set = 0;; ++set) {
    const fs::path data = folder / concat("test_data_set_", set);
    if (!fs::exists(data)) {
      if (set == 0) fail(Code::not_found, "there is no test data");
      return;
    }
    const auto inputs = read_values(data, "input", input_types(graph));
    const auto wanted = read_values(data, "output", output_types(graph));
    check_all(run_plainly(program, inputs), wanted, 1e-7);
    within("as a session", [&] { check_all(session.run(inputs), wanted, 1e-3); });
  }
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
      std::fflush(stdout);
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
