// hub infer
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/source.h"
#include "cli/terminal.h"
#include "modules/module.h"

namespace hub {
namespace {

/// The file name of an output: letters, digits, '-', '_' and '.' of its name.
std::string file_name(const std::string& output) {
  std::string s;
  for (char c : output) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    s += plain ? c : '_';
  }
  if (s.empty() || s.front() == '.') s = "_" + s;
  return s;
}

void run_session(Session& session, const Args& args, Context& context) {
  const Program& p = session.program();
  std::vector<Tensor> inputs(p.inputs.size());
  for (const auto& word : args.list("--in")) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos && p.inputs.size() != 1) {
      fail(Code::usage, "--in ", word, ": the network has ", p.inputs.size(),
           " inputs, NAME=FILE.npy is wanted");
    }
    const size_t index =
        equals == std::string::npos ? 0 : session.input_index(word.substr(0, equals));
    const std::string path = equals == std::string::npos ? word : word.substr(equals + 1);
    inputs[index] = within(path, [&] { return read_npy(MappedFile::open(path)); });
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& v = p[p.inputs[i]];
    if (!inputs[i])
      fail(Code::usage, "input '", v.name, "' ", v.declared.str(), " is missing: --in ", v.name,
           "=FILE.npy");
  }
  if (const std::string runs = args.text("--profile"); !runs.empty()) {
    context.terminal.print(session.profile(inputs, args.number("--profile", 1)));
    return;
  }
  const std::vector<Tensor> outputs = session.run(inputs);
  const std::string folder = args.text("--out");
  if (!folder.empty()) make_folders(folder);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = p[p.outputs[i]].name;
    json line = {{"output", name},
                 {"dtype", std::string(name_of(outputs[i].dtype()))},
                 {"shape", outputs[i].shape().vec()}};
    std::string path;
    if (!folder.empty()) {
      path = folder + "/" + file_name(name) + ".npy";
      write_file(path, write_npy(outputs[i]));
      line["file"] = path;
    }
    context.terminal.print(context.json_output
                               ? json_line(line)
                               : concat(printable(name), " ", outputs[i].spec().str(),
                                        path.empty() ? "" : "  ", path, "\n"));
  }
}

int run(const Args& args, Context& context) {
  set_threads(args.number("--threads", 0));
  const std::string device = args.text("--device");
  const std::string word = args.text("source");
  const auto request = module_request(word);
  if (!request) {
    Session session(import_file(word), {.device = device, .pack_file = {}, .states = {}});
    run_session(session, args, context);
    return 0;
  }
  Hub hub(context.settings(), context.terminal);
  const auto module = Module::open(hub.need(*request), context.terminal, device);
  const auto& networks = module->manifest().networks;
  std::string name = args.text("--network");
  if (name.empty()) {
    if (networks.size() != 1) {
      std::vector<std::string> names;
      for (const auto& [n, spec] : networks) names.push_back(n);
      fail(Code::usage, module->manifest().id(), " has several networks; --network ", one_of(names),
           " is wanted");
    }
    name = networks.begin()->first;
  }
  run_session(module->network(name), args, context);
  return 0;
}

}  // namespace

extern const Command infer_command{
    "infer",
    "Runs a network on raw tensors (NumPy files)",
    "A bare name is a module; a file has a '/' or a '.' in it (./NAME). Prints each output's type "
    "and\n"
    "shape; with --out the numbers go to OUT/<output>.npy.",
    {{"source", "text", "a module or a network file", "", true},
     {"--in", "list", "NAME=FILE.npy, one for each input; FILE.npy when there is one"},
     {"--out", "text", "folder for the outputs"},
     {"--network", "text", "which of the module's networks"},
     {"--device", "text", "cpu or reference", "cpu"},
     {"--threads", "number", "0 means one a processor", "0"},
     {"--profile", "number", "instead prints the times of N runs and of each step"},
     {"--json", "flag", "one JSON object an output"}},
    run};

}  // namespace hub
