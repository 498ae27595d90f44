// hub inspect
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/source.h"
#include "cli/terminal.h"
#include "modules/module.h"

namespace hub {
namespace {

json ports(const Program& p, const std::vector<ValueId>& ids) {
  json list = json::array();
  for (ValueId id : ids) {
    const Value& v = p[id];
    const bool known = v.declared.dtype != DType::none;
    list.push_back({{"name", v.name},
                    {"dtype", known ? std::string(name_of(v.declared.dtype)) : "?"},
                    {"shape", known ? json(v.declared.shape.vec()) : json()}});
  }
  return list;
}

void describe(const std::string& name, const Program& p, bool text, Context& context) {
  std::map<std::string, int> operators;
  int64_t parameters = 0;
  for (const OpCall& call : p.ops) ++operators[std::string(call.op->name)];
  for (const Value& v : p.values) {
    if (v.constant) parameters += v.constant.numel();
  }
  if (context.json_output) {
    json object = {{"network", name},
                   {"inputs", ports(p, p.inputs)},
                   {"outputs", ports(p, p.outputs)},
                   {"parameters", parameters},
                   {"operators", operators}};
    if (text) object["program"] = to_text(p);
    context.terminal.print(json_line(object));
    return;
  }
  std::string s = concat("network ", printable(name), ": ", p.ops.size(), " calls, ", parameters,
                         " parameters\n");
  for (const auto& [kind, ids] : {std::pair("in ", &p.inputs), std::pair("out", &p.outputs)}) {
    for (ValueId id : *ids) {
      const Value& v = p[id];
      s += concat("  ", kind, "  ", printable(v.name), " ",
                  v.declared.dtype == DType::none ? "?" : v.declared.str(), "\n");
    }
  }
  s += "  operators ";
  for (const auto& [op, count] : operators) s += concat(" ", op, " ×", count);
  s += "\n";
  if (text) s += to_text(p);
  context.terminal.print(s);
}

int run(const Args& args, Context& context) {
  const std::string word = args.text("source");
  const bool text = args.flag("--program");
  if (const auto request = module_request(word)) {
    Hub hub(context.settings(), context.terminal);
    const auto module = Module::open(hub.need(*request), context.terminal);
    for (const auto& [name, spec] : module->manifest().networks) {
      describe(name, module->program(name), text, context);
    }
    return 0;
  }
  describe(word, import_file(word), text, context);
  return 0;
}

}  // namespace

extern const Command inspect_command{
    "inspect",
    "Shows inputs, outputs and operators of a module's networks or of a network file",
    "A bare name is a module; a file has a '/' or a '.' in it (./NAME). Files: ONNX, Paddle "
    "programs, TensorFlow Lite.",
    {{"source", "text", "a module or a file", "", true},
     {"--program", "flag", "the whole program as text"},
     {"--json", "flag", "one JSON object a network"}},
    run};

}  // namespace hub
