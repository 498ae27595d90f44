#include "finetune/checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "hub/manifest.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view meta_name = "hub.position", best_prefix = "best/", now_prefix = "now/";

json to_json(const Position& p) {
  json j = {{"epoch", p.epoch},
            {"batch", p.batch},
            {"step", p.step},
            {"loss_sum", p.loss_sum},
            {"loss_weight", p.loss_weight},
            {"seconds", p.seconds},
            {"best_epoch", p.best_epoch},
            {"worse", p.worse},
            {"ended", p.ended},
            {"train_loss", p.train_loss}};
  if (p.best) j["best"] = *p.best;
  return j;
}

Position position_from(const json& j) {
  Position p;
  p.epoch = j.at("epoch");
  p.batch = j.at("batch");
  p.step = j.at("step");
  p.loss_sum = j.at("loss_sum");
  p.loss_weight = j.at("loss_weight");
  p.seconds = j.at("seconds");
  p.best_epoch = j.at("best_epoch");
  p.worse = j.at("worse");
  p.ended = j.at("ended");
  p.train_loss = j.at("train_loss");
  if (j.contains("best")) p.best = j.at("best").get<double>();
  if (std::min({p.epoch, p.batch, p.step, p.worse}) < 0)
    fail(Code::refused, "its position is below zero");
  return p;
}

/// "checkpoint-000003-step-12-<16 hex>.safetensors": the third of its folder.
struct Name {
  int64_t number;
  std::string digest, file;
};
/// The newest first.
std::vector<Name> checkpoints_in(const std::string& folder) {
  std::vector<Name> all;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    const std::string file = entry.path().filename().string();
    long long number = 0, step = 0;
    char digest[17] = {};
    int end = 0;
    if (std::sscanf(file.c_str(), "checkpoint-%18lld-step-%18lld-%16[0-9a-f].safetensors%n",
                    &number, &step, digest, &end) == 3 &&
        static_cast<size_t>(end) == file.size())
      all.push_back({number, digest, file});
  }
  std::sort(all.begin(), all.end(), [](const Name& a, const Name& b) {
    return a.number != b.number ? a.number > b.number : a.file < b.file;
  });
  return all;
}

/// What a killed save left.
void remove_temporaries(const std::string& folder) {
  std::vector<fs::path> left;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    if (entry.path().filename().string().starts_with(".hub.")) left.push_back(entry.path());
  }
  for (const fs::path& path : left) fs::remove(path, ec);
}

/// The first member that differs, however deep: "options: batch was "16", now it is "4"".
std::string first_difference(const json& wanted, const json& found) {
  for (const auto& [key, value] : wanted.items()) {
    const json was = found.value(key, json());
    if (was == value) continue;
    if (was.is_object() && value.is_object())
      return concat(key, ": ", first_difference(value, was));
    return concat(key, " was ", was.is_null() ? "not set" : was.dump(), ", now it is ",
                  value.dump());
  }
  return "it has settings that this one has not";
}

void refuse_other(const std::string& wanted, const std::string& found) {
  fail(Code::usage, "the checkpoint is of another run: ",
       first_difference(parse_json(wanted), parse_json(found)),
       "; resume with the same options, or start anew without --resume");
}

}  // namespace

Checkpoints::Checkpoints(std::string folder, json identity)
    : folder_(std::move(folder)), identity_(identity.dump()) {
  make_folders(folder_);
  remove_temporaries(folder_);
}

std::string Checkpoints::save(const Checkpoint& checkpoint) {
  const std::string meta =
      json{{"position", to_json(checkpoint.position)}, {"identity", identity_}}.dump();
  NamedTensors all;
  all.emplace(meta_name,
              Tensor::of<uint8_t>({static_cast<int64_t>(meta.size())},
                                  {reinterpret_cast<const uint8_t*>(meta.data()), meta.size()}));
  for (const auto& [name, t] : checkpoint.states) all.emplace(concat(now_prefix, name), t);
  for (const auto& [name, t] : checkpoint.best) all.emplace(concat(best_prefix, name), t);
  FileWriter writer(folder_);
  Sha256 sha;
  write_safetensors(all, [&](std::string_view bytes) {
    writer.add(bytes);
    sha.add(bytes);
  });
  const auto before = checkpoints_in(folder_);
  char name[96];
  std::snprintf(name, sizeof name, "checkpoint-%06lld-step-%lld-%.16s.safetensors",
                static_cast<long long>(before.empty() ? 1 : before[0].number + 1),
                static_cast<long long>(checkpoint.position.step), sha.finish().hex().c_str());
  writer.commit(name);
  for (size_t i = own_ ? 1 : 0; i < before.size(); ++i) {
    std::error_code ec;  // one too many does no harm
    fs::remove(concat(folder_, "/", before[i].file), ec);
  }
  own_ = true;
  return concat(folder_, "/", name);
}

std::optional<Checkpoint> Checkpoints::newest(std::vector<std::string>& notes) {
  for (const Name& name : checkpoints_in(folder_)) {
    const std::string path = concat(folder_, "/", name.file);
    try {
      const MappedFile file = MappedFile::open(path);
      if (Sha256::of(file.bytes()).hex().substr(0, 16) != name.digest)
        fail(Code::integrity, "its content does not match its name");
      Checkpoint c;
      std::string meta;
      for (auto& [key, tensor] : read_safetensors(file)) {
        if (key == meta_name) {
          meta.assign(reinterpret_cast<const char*>(tensor.data<uint8_t>()), tensor.bytes());
        } else if (key.starts_with(now_prefix)) {
          c.states.emplace(key.substr(now_prefix.size()), tensor);
        } else {
          c.best.emplace(key.substr(std::min(key.size(), best_prefix.size())), tensor);
        }
      }
      const json document = parse_json(meta);
      if (document.at("identity") != identity_) refuse_other(identity_, document.at("identity"));
      c.position = position_from(document.at("position"));
      own_ = true;
      return c;
    } catch (const Error& e) {
      if (e.code() == Code::usage) throw;
      notes.push_back(concat("checkpoint ", path, " is passed over: ", e.what()));
    } catch (const json::exception&) {
      notes.push_back(concat("checkpoint ", path, " is passed over: it is not complete"));
    }
  }
  return {};
}

void remove_checkpoints(const std::string& folder) {
  for (const Name& name : checkpoints_in(folder)) {
    std::error_code ec;
    fs::remove(concat(folder, "/", name.file), ec);
  }
}

}  // namespace hub
