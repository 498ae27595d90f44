// Runs the golden cases of Paddle's operators (make.py says what the files hold) through the
// importer, once with the reference kernels and once in a session on the cpu. Results must have the
// type, the shape and the numbers that Paddle gave: integers exactly, floats within rtol 1e-3 and
// atol 1e-5. Cases that are known to fail are listed in a file, "case: why" a line; it may only
// shrink: a listed case that passes fails the run as much as one that fails and is not listed.
//   paddle_golden_test DATA_FOLDER LIST [CASE]
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/block.h"
#include "runtime/import/import.h"
#include "runtime/session.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string program;
  std::string params;
  std::map<std::string, Tensor> in;
  std::map<int, Tensor> out;
};

/// The two files of a case, "p" and "w".
struct CaseFiles final : Files {
  const Case& c;
  explicit CaseFiles(const Case& from) : c(from) {}
  MappedFile open(const RelPath& path) const override {
    return MappedFile::of(path.str() == "p" ? c.program : c.params);
  }
  bool has(const RelPath&) const override { return true; }
};

std::string bytes_of_tensor(const Tensor& t) {
  return {reinterpret_cast<const char*>(t.raw()), t.bytes()};
}

/// The cases of a file, by name: "conv2d:3".
std::map<std::string, Case> read_cases(const fs::path& path) {
  const FolderFiles files(path.parent_path());
  const MappedFile file = files.open(RelPath::parse(path.filename().string()));
  std::map<std::string, Case> cases;
  for (const auto& [name, tensor] : read_safetensors(file)) {
    const auto parts = split(name, '/');
    if (parts.size() < 2) fail(Code::refused, path.string(), ": tensor '", name, "'");
    Case& c = cases[std::string(parts[0])];
    if (parts[1] == "program") c.program = bytes_of_tensor(tensor);
    if (parts[1] == "params") c.params = bytes_of_tensor(tensor);
    if (parts[1] == "in") c.in[std::string(parts.at(2))] = tensor.clone();
    if (parts[1] == "out") c.out[std::stoi(std::string(parts.at(2)))] = tensor.clone();
  }
  return cases;
}

template <class T>
void compare(const Tensor& found, const Tensor& wanted, size_t k) {
  for (int64_t i = 0; i < found.numel(); ++i) {
    const auto a = static_cast<double>(found.data<T>()[i]);
    const auto b = static_cast<double>(wanted.data<T>()[i]);
    if (found.data<T>()[i] == wanted.data<T>()[i] || (std::isnan(a) && std::isnan(b))) continue;
    const bool real = std::is_floating_point_v<T>;
    if (!real || !(std::fabs(a - b) <= 1e-5 + 1e-3 * std::fabs(b)))
      fail(Code::numeric, "output ", k, ": element ", i, " of ", found.spec().str(), " is ", a,
           ", wanted ", b);
  }
}

void check_equal(const Tensor& found, const Tensor& wanted, size_t k) {
  if (found.spec() != wanted.spec())
    fail(Code::numeric, "output ", k, " is ", found.spec().str(), ", wanted ", wanted.spec().str());
  switch (found.dtype()) {
    case DType::f32: return compare<float>(found, wanted, k);
    case DType::f64: return compare<double>(found, wanted, k);
    case DType::i64: return compare<int64_t>(found, wanted, k);
    case DType::i32: return compare<int32_t>(found, wanted, k);
    case DType::boolean: return compare<bool>(found, wanted, k);
    case DType::i8: return compare<int8_t>(found, wanted, k);
    default: fail(Code::unsupported, "output ", k, " is ", found.spec().str());
  }
}

void check_all(const std::vector<Tensor>& found, const Case& c) {
  if (found.size() != c.out.size())
    fail(Code::numeric, found.size(), " outputs, ", c.out.size(), " are wanted");
  for (size_t k = 0; k < found.size(); ++k) check_equal(found[k], c.out.at(static_cast<int>(k)), k);
}

void run_case(const Case& c) {
  const Program program = import_paddle(CaseFiles(c), RelPath::parse("p"), "w");
  std::vector<Tensor> inputs;
  for (ValueId id : program.inputs) inputs.push_back(c.in.at(program[id].name));
  const auto block = std::make_shared<const Program>(program);
  within("reference", [&] { check_all(run_plainly(block, inputs), c); });
  within("cpu", [&] { check_all(Session(program).run(inputs), c); });
}

std::set<std::string> read_list(const std::string& path) {
  std::set<std::string> names;
  const std::string text = read_file(path);
  for (std::string_view line : lines(text))
    if (!line.empty() && line[0] != '#') names.emplace(line.substr(0, line.find(": ")));
  return names;
}

int run_all(const std::string& folder, const std::string& list, const std::string& only) {
  auto listed = read_list(list);
  std::set<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.insert(entry.path());
  int passed = 0;
  int total = 0;
  int surprises = 0;
  std::set<std::string> operators;
  std::set<std::string> failing;
  for (const fs::path& path : paths) {
    for (const auto& [name, c] : read_cases(path)) {
      if (!only.empty() && !name.starts_with(only)) continue;
      const bool known = listed.erase(name) > 0;
      std::string why;
      try {
        run_case(c);
      } catch (const std::exception& e) {
        why = e.what();
      }
      ++total;
      const std::string op = name.substr(0, name.find(':'));
      operators.insert(op);
      if (why.empty())
        ++passed;
      else
        failing.insert(op);
      if (why.empty() != known) continue;
      ++surprises;
      const auto line =
          known ? concat(name, ": passes, take it off the list") : concat(name, ": ", why);
      std::printf("%s\n", line.c_str());
    }
  }
  if (!only.empty()) listed.clear();
  for (const std::string& name : listed)
    std::printf("%s: is on the list, there is no such case\n", name.c_str());
  std::printf("passed %d of %d cases; all cases of %zu of %zu operators\n", passed, total,
              operators.size() - failing.size(), operators.size());
  return surprises == 0 && listed.empty() && total > 0 ? 0 : 1;
}

}  // namespace
}  // namespace hub

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: paddle_golden_test DATA_FOLDER LIST [CASE]\n");
    return 2;
  }
  try {
    return hub::run_all(argv[1], argv[2], argc == 4 ? argv[3] : "");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "paddle_golden_test: %s\n", e.what());
    return 1;
  }
}
