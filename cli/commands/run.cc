// hub run
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "modules/module.h"

namespace hub {
namespace {

/// Predicts batch by batch and prints in the order of the inputs; an input that fails does not stop
/// the others.
class Runner {
 public:
  Runner(Module& module, const Args& args, Context& context)
      : module_(module),
        terminal_(context.terminal),
        json_(context.json_output),
        timing_(args.flag("--timing")),
        second_(args.text("--second")),
        folder_(args.text("--output")) {
    options_.top = args.number("--top", 1);
    options_.pair = args.flag("--pair");
    batch_ = args.text("--batch").empty() ? module.task().batch()
                                          : static_cast<size_t>(args.number("--batch", 1));
    if (!folder_.empty()) make_folders(folder_);
  }

  int run(const std::vector<InputItem>& items) {
    named_ = items.size() > 1 && !options_.pair;
    if (options_.pair) {
      if (items.size() != 2)
        fail(Code::usage, "--pair compares two inputs; ", items.size(), " were given");
      batch_ = 2;
    }
    for (size_t i = 0; i < items.size(); i += batch_) {
      some({items.data() + i, std::min(batch_, items.size() - i)});
    }
    return worst_;
  }

 private:
  void some(std::span<const InputItem> items) {
    const auto began = std::chrono::steady_clock::now();
    std::vector<Sample> samples;
    std::vector<std::optional<Error>> errors(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      try {
        samples.push_back(read_sample(items[i], module_.task().input(), terminal_));
        samples.back().text_b = second_;
      } catch (const Error& e) {
        if (options_.pair) throw;
        errors[i] = e;
      }
    }
    std::vector<json> results;
    try {
      if (!samples.empty()) results = module_.task().predict(samples, options_);
    } catch (const Error& e) {
      if (options_.pair) throw;
      if (items.size() == 1) {
        errors[0] = e;
        samples.clear();
      } else {  // one at a time, to find whose fault it is
        for (const InputItem& item : items) some({&item, 1});
        return;
      }
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    const double ms = took.count() / static_cast<double>(items.size());
    if (options_.pair) {
      print(items[0].name + " | " + items[1].name, results.at(0), ms);
      return;
    }
    for (size_t i = 0, k = 0; i < items.size(); ++i) {
      if (errors[i]) {
        refuse(items[i].name, *errors[i]);
        continue;
      }
      if (!folder_.empty()) draw(samples[k], results[k]);
      print(items[i].name, results[k], ms);
      ++k;
    }
  }

  void print(const std::string& name, const json& output, double ms) {
    if (json_) {
      json line = {{"input", name}, {"module", module_.manifest().id()}, {"output", output}};
      if (timing_) line["ms"] = ms;
      terminal_.print(json_line(line));
      return;
    }
    if (named_ && module_.task().input() != InputKind::text)
      terminal_.print(printable(name) + ":\n");
    terminal_.print(output_text(output));
    if (timing_) terminal_.complain(concat(name, ": ", ms, " ms"));
  }

  void refuse(const std::string& name, const Error& e) {
    worst_ = std::max(worst_, static_cast<int>(e.code()));
    if (json_) {
      terminal_.print(json_line(
          {{"input", name},
           {"error", {{"code", std::string(code_name(e.code()))}, {"message", e.what()}}}}));
    }
    terminal_.complain(e.what());
  }

  void draw(const Sample& sample, const json& output) {
    std::string stem = std::filesystem::path(sample.name).stem().string();
    if (stem.empty() || stem == "-") stem = "input";
    std::string name = stem + ".png";
    for (int n = 2; !written_.insert(name).second; ++n) name = concat(stem, "-", n, ".png");
    write_file(folder_ + "/" + name, encode_png(module_.task().draw(sample, output)));
    terminal_.complain("wrote " + folder_ + "/" + name);
  }

  Module& module_;
  Terminal& terminal_;
  bool json_, timing_;
  std::string second_, folder_;
  RunOptions options_;
  size_t batch_ = 1;
  bool named_ = false;
  int worst_ = 0;
  std::set<std::string> written_;
};

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
  const auto items = items_of(args, kind);
  if (items.empty()) {
    fail(Code::usage, "nothing to run on: give ", kind_name(kind), texts ? "" : " or a folder",
         ", or '-' for standard input");
  }
  return Runner(*module, args, context).run(items);
}

}  // namespace

extern const Command run_command{
    "run",
    "Predicts: runs a module on text, pictures or sounds, and installs it on first use",
    "INPUT is a text, a file with one text a line, a picture, a sound, a folder of either, a "
    "pattern\n"
    "or '-' for standard input.",
    {{"name", "text", "a module, with or without @VERSION", "", true},
     {"input", "list", "one or more inputs"},
     {"--top", "number", "labels of a classification", "5"},
     {"--batch", "text", "inputs at a time; the module's own choice when it is left out"},
     {"--pair", "flag", "two texts: how similar they are"},
     {"--second", "text", "goes with each input: the question to a text, the other text of a pair"},
     {"--output", "text", "folder for pictures with the result drawn on them"},
     {"--device", "text", "cpu or reference", "cpu"},
     {"--threads", "number", "0 means one a processor", "0"},
     {"--timing", "flag", "adds the milliseconds of each input"},
     {"--json", "flag", "one JSON object an input"},
     {"--input_text", "list", "texts, never taken as file names"},
     {"--input_path", "list", "pictures or sounds"},
     {"--input_file", "list", "files that list one input a line"}},
    run};

}  // namespace hub
