#include "cli/runner.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/ahead.h"
#include "base/digest.h"
#include "base/text.h"
#include "cli/output.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

/// The beginning of a text as the name of a file.
std::string words_of(std::string_view text) {
  std::string words;
  for (const char c : text.substr(0, 60)) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (kept) {
      words += c;
    } else if (!words.empty() && words.back() != '-') {
      words += '-';
    }
  }
  while (words.ends_with('-')) words.pop_back();
  return words;
}

std::string without_ending(const std::string& path) {
  return path.substr(0, path.size() - fs::path(path).extension().string().size());
}

/// Keeps the notes, to be shown in the place of the input that they are about.
struct Kept final : Progress {
  void update(std::string_view, uint64_t, uint64_t) override {}
  void note(std::string_view message) override { notes.emplace_back(message); }
  std::vector<std::string> notes;
};

}  // namespace

Runner::Runner(Module& module, const Args& args, Context& context)
    : module_(module),
      terminal_(context.terminal),
      json_(context.json_output),
      timing_(args.flag("--timing")),
      pair_(args.flag("--pair")),
      second_(args.text("--second")),
      folder_(args.text("--output")),
      journal_path_(args.text("--journal")) {
  options_.top = args.number("--top", 1);
  options_.pair = pair_;
  if (!args.text("--length").empty()) options_.length = args.number("--length", 1);
  options_.temperature = real_number(args, "--temperature", 0);
  options_.seed = static_cast<uint64_t>(args.number("--seed", 0));
  batch_ = args.text("--batch").empty() ? module.task().batch()
                                        : static_cast<size_t>(args.number("--batch", 1));
  if (!second_.empty() && module.task().second() == InputKind::image)
    second_picture_ = read_picture(second_, module.task().alpha(), terminal_);
  if (folder_.ends_with(".wav")) single_ = std::exchange(folder_, "");
  if (!folder_.empty()) make_folders(folder_);
  if (journal_path_.empty()) return;
  if (pair_) fail(Code::usage, "--journal keeps a result an input; --pair has one of two");
  const Manifest& manifest = module.manifest();
  journal_ =
      std::make_unique<Journal>(journal_path_, json{{"module", manifest.id()},
                                                    {"manifest", Sha256::of(manifest.text).hex()},
                                                    {"top", options_.top},
                                                    {"length", options_.length},
                                                    {"temperature", options_.temperature},
                                                    {"seed", options_.seed},
                                                    {"second", second_},
                                                    {"output", folder_ + single_}});
}

int Runner::run(std::vector<InputItem> items) {
  if (pair_) {
    pair(items);
    return worst_;
  }
  named_ = items.size() > 1;
  if (!single_.empty() && items.size() != 1)
    fail(Code::usage, "--output ", single_, " is one file, for ", items.size(),
         " inputs; give a folder");
  if (journal_) items = left(std::move(items));
  if (!folder_.empty()) name_files(items);
  const size_t count = (items.size() + batch_ - 1) / batch_;
  // A thread for each batch is more than a team for one after the other: nothing waits for the
  // reading of files, and no step for the slowest of a team.
  const auto team = static_cast<size_t>(threads());
  const size_t workers = timing_ ? 1 : std::clamp<size_t>(count, 1, team);
  set_threads(static_cast<int>(team / workers));
  Ahead<Outcomes> ahead(0, count, static_cast<int>(workers), 2 * workers, [&](size_t i) {
    return predict(
        std::span(items).subspan(i * batch_, std::min(batch_, items.size() - i * batch_)));
  });
  for (size_t i = 0; i < count; ++i) {
    for (const Outcome& outcome : ahead.take()) report(outcome);
    if (count > 1) terminal_.status(concat(done_ + failed_, " of ", items.size()));
  }
  if (journal_) summarize();
  return worst_;
}

void Runner::pair(const std::vector<InputItem>& items) {
  if (items.size() != 2)
    fail(Code::usage, "--pair compares two inputs; ", items.size(), " were given");
  const auto began = std::chrono::steady_clock::now();
  std::vector<Sample> samples;
  for (const InputItem& item : items)
    samples.push_back(read_sample(item, module_.task().input(), terminal_, module_.task().alpha()));
  Outcome outcome;
  const InputItem both{InputItem::From::text, items[0].name + " | " + items[1].name, ""};
  outcome.item = &both;
  outcome.line = line_of(both, module_.task().predict(samples, options_).at(0));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  outcome.ms = took.count() / 2;
  report(outcome);
}

/// The inputs that the journal holds no result of.
std::vector<InputItem> Runner::left(std::vector<InputItem> items) {
  for (const InputItem& item : items)
    if (item.from == InputItem::From::standard_input)
      fail(Code::usage, "--journal wants inputs with names; standard input has none");
  const size_t all = items.size();
  std::erase_if(items, [&](const InputItem& item) { return journal_->done(item.name); });
  before_ = all - items.size();
  return items;
}

/// A name for what is made of each input: no two the same, none that the journal speaks of.
void Runner::name_files(const std::vector<InputItem>& items) {
  std::set<std::string> taken;
  if (journal_)
    for (const std::string& file : journal_->files()) taken.insert(without_ending(file));
  for (const InputItem& item : items) {
    const std::string stem = item.from == InputItem::From::text
                                 ? words_of(item.text)
                                 : fs::path(item.name).stem().string();
    const std::string begin = folder_ + "/" + (stem.empty() || stem == "-" ? "input" : stem);
    std::string path = begin;
    for (int n = 2; !taken.insert(path).second; ++n) path = concat(begin, "-", n);
    files_[&item] = path;
  }
}

json Runner::line_of(const InputItem& item, json output) const {
  return {{"input", item.name}, {"module", module_.manifest().id()}, {"output", std::move(output)}};
}

/// Called by several threads at once.
Runner::Outcomes Runner::predict(std::span<const InputItem> items) const {
  const auto began = std::chrono::steady_clock::now();
  Outcomes outcomes(items.size());
  std::vector<Sample> samples;
  std::vector<Outcome*> of_samples;
  for (size_t i = 0; i < items.size(); ++i) {
    outcomes[i].item = &items[i];
    Kept kept;
    try {
      samples.push_back(
          read_sample(items[i], module_.task().input(), kept, module_.task().alpha()));
      samples.back().text_b = second_;
      samples.back().image_b = second_picture_;
      of_samples.push_back(&outcomes[i]);
    } catch (const Error& e) {
      outcomes[i].error = e;
    }
    outcomes[i].notes = std::move(kept.notes);
  }
  std::vector<json> results;
  std::vector<Image> pictures;
  std::vector<Audio> sounds;
  RunOptions options = options_;
  options.pictures = &pictures;
  options.sounds = &sounds;
  try {
    if (!samples.empty()) results = module_.task().predict(samples, options);
  } catch (const Error& e) {
    if (items.size() == 1) {
      outcomes[0].error = e;
      return outcomes;
    }
    outcomes.clear();  // one at a time, to find whose fault it is
    for (const InputItem& item : items) outcomes.push_back(std::move(predict({&item, 1}).front()));
    return outcomes;
  }
  for (size_t k = 0; k < results.size(); ++k) {
    Outcome& outcome = *of_samples[k];
    outcome.line = line_of(*outcome.item, std::move(results[k]));
    try {
      write(samples[k], k < pictures.size() ? &pictures[k] : nullptr,
            k < sounds.size() ? &sounds[k] : nullptr, outcome);
    } catch (const Error& e) {
      if (e.code() == Code::unsupported) throw;  // the next would say the same
      outcome.error = e;
    }
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  for (Outcome& outcome : outcomes) outcome.ms = took.count() / static_cast<double>(items.size());
  return outcomes;
}

/// What was made of the input, or the input with the result drawn on it, when somebody wants it.
void Runner::write(const Sample& sample, const Image* picture, const Audio* sound,
                   Outcome& outcome) const {
  if (folder_.empty() && single_.empty()) {
    if ((picture != nullptr || sound != nullptr) && !lost_.exchange(true)) {
      outcome.notes.emplace_back(
          sound != nullptr ? "the sound is not kept; --output FILE.wav or FOLDER writes it"
                           : "the picture is not kept; --output FOLDER writes it");
    }
    return;
  }
  if (sound == nullptr && !single_.empty())
    fail(Code::unsupported, "--output ", single_, " is for a sound; this task makes none");
  std::string path = single_;
  if (path.empty()) path = files_.at(outcome.item) + (sound != nullptr ? ".wav" : ".png");
  if (sound != nullptr) {
    write_file(path, encode_wav(*sound));
  } else {
    write_file(path, encode_png(picture != nullptr
                                    ? *picture
                                    : module_.task().draw(sample, outcome.line.at("output"))));
  }
  outcome.line["file"] = path;
  outcome.notes.push_back("wrote " + path);
}

void Runner::report(const Outcome& outcome) {
  for (const std::string& note : outcome.notes) terminal_.complain(note);
  json line = outcome.line;
  if (outcome.error) {
    ++failed_;
    worst_ = std::max(worst_, static_cast<int>(outcome.error->code()));
    line = {{"input", outcome.item->name},
            {"error",
             {{"code", std::string(code_name(outcome.error->code()))},
              {"message", outcome.error->what()}}}};
  } else {
    ++done_;
    if (timing_) line["ms"] = outcome.ms;
  }
  if (journal_) journal_->add(json_line(line));
  if (json_) terminal_.print(json_line(line));
  if (outcome.error) {
    terminal_.complain(outcome.error->what());
  } else if (!json_) {
    if (named_ && module_.task().input() != InputKind::text)
      terminal_.print(printable(outcome.item->name) + ":\n");
    terminal_.print(output_text(line.at("output")));
    if (timing_) terminal_.complain(concat(outcome.item->name, ": ", outcome.ms, " ms"));
  }
}

void Runner::summarize() const {
  terminal_.complain(concat(journal_path_, ": ", before_, " done before, ", done_, " now, ",
                            failed_, " failed",
                            failed_ > 0 ? "; the same command tries those again" : ""));
}

}  // namespace hub
