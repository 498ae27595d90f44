// hub infer
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/network.h"
#include "cli/output.h"
#include "cli/terminal.h"

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
  const std::vector<Tensor> inputs = given_inputs(args, session);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& v = p[p.inputs[i]];
    if (!inputs[i])
      fail(Code::usage, "input '", v.name, "' ", v.declared.str(), " is missing: --in ", v.name,
           "=FILE.npy");
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
  Network network(args, context, args.text("--device"));
  run_session(network.session(), args, context);
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
     {"--json", "flag", "one JSON object an output"}},
    run};

}  // namespace hub
