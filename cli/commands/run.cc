// hub run
#include <iterator>

#include "base/error.h"
#include "cli/runner.h"

namespace hub {
namespace {

std::vector<InputItem> items_of(const Args& args, InputKind kind) {
  std::vector<InputItem> items;
  auto more = [&](std::vector<InputItem> list) {
    items.insert(items.end(), std::make_move_iterator(list.begin()),
                 std::make_move_iterator(list.end()));
  };
  const bool texts = kind == InputKind::text;
  more(texts ? text_items(args.list("input")) : file_items(args.list("input"), kind));
  if (!texts) {
    more(file_items(args.list("--input_path"), kind));
  } else {
    for (const auto& text : args.list("--input_text"))
      items.push_back({InputItem::From::text, text, text});
  }
  for (const auto& path : args.list("--input_file")) {
    auto listed = line_items(path, read_file(path));
    if (!texts) {
      std::vector<std::string> paths;
      for (const InputItem& item : listed) paths.push_back(item.text);
      listed = file_items(paths, kind);
    }
    more(std::move(listed));
  }
  return items;
}

int run(const Args& args, Context& context) {
  set_threads(args.number("--threads", 0));
  const Request request = Request::parse(args.text("name"));
  Hub hub(context.settings(), context.terminal);
  const auto module = Module::open(hub.need(request), context.terminal, args.text("--device"));
  const InputKind kind = module->task().input();
  const bool texts = kind == InputKind::text;
  if (!args.list(texts ? "--input_path" : "--input_text").empty())
    fail(Code::usage, module->manifest().id(), " takes ", kind_name(kind));
  auto items = items_of(args, kind);
  if (items.empty()) {
    fail(Code::usage, "nothing to run on: give ", kind_name(kind), texts ? "" : " or a folder",
         ", or '-' for standard input");
  }
  return Runner(*module, args, context).run(std::move(items));
}

}  // namespace

extern const Command run_command{
    "run",
    "Predicts: runs a module on text, pictures, sounds or videos, and installs it on first use",
    "INPUT is a text, a file with one text a line, a picture, a sound, a video, a folder "
    "of these, a pattern\n"
    "or '-' for standard input.",
    {{"name", "text", "a module, with or without @VERSION", "", true},
     {"input", "list", "one or more inputs"},
     {"--top", "number", "labels of a classification", "5"},
     {"--batch", "text", "inputs at a time; the module's own choice when it is left out"},
     {"--pair", "flag", "two texts: how similar they are"},
     {"--second", "text",
      "goes with each input: the question to a text, the other text of a pair, the style of a "
      "picture"},
     {"--length", "text",
      "of generated text: tokens at most; the module's own when it is left out"},
     {"--temperature", "text", "of generated text: 0 takes the likeliest token, 1 draws them", "0"},
     {"--seed", "number", "of generated text that is drawn", "0"},
     {"--output", "text",
      "folder for what is made: pictures, sounds, or the input with the result drawn on it; "
      "FILE.wav for one sound"},
     {"--journal", "text",
      "keeps the results in this file; the same command goes on where it was stopped"},
     {"--device", "text", "cpu or reference", "cpu"},
     {"--threads", "number", "0 means one a processor", "0"},
     {"--timing", "flag", "adds the milliseconds of each input; one batch after the other then"},
     {"--json", "flag", "one JSON object an input"},
     {"--input_text", "list", "texts, never taken as file names"},
     {"--input_path", "list", "pictures, sounds or videos"},
     {"--input_file", "list", "files that list one input a line"}},
    run};

}  // namespace hub
