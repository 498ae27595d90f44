// Kinds of files, against magika 1.0.3: small files that no network is asked about, bytes behind
// blanks, scores below their threshold.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/modules/default_module.h"

using namespace hub;

namespace {

Silent silent;

Sample file_sample(std::string bytes) {
  Sample sample;
  sample.name = "a file";
  sample.file = MappedFile::of(std::move(bytes));
  return sample;
}

}  // namespace

TEST_CASE("files of any kind are told as the package tells them") {
  struct Row {
    std::string bytes;
    const char *label, *guess;
  };
  const std::string blank(5000, ' ');
  const Row rows[] = {{"", "empty", "undefined"},
                      {"a", "txt", "undefined"},
                      {"\xff\xfe", "unknown", "undefined"},
                      {"        x        ", "txt", "txt"},
                      {blank + "hello", "txt", "undefined"},
                      {std::string(100, '\0'), "unknown", "stlbinary"},
                      {"#!/bin/sh\necho hi\n", "shell", "shell"},
                      {"abcdefgh", "txt", "txt"},
                      {"{\"a\": 1}\n", "txt", "jsonl"}};
  const auto module = default_module("magika", silent);
  std::vector<Sample> samples;
  for (const Row& row : rows) samples.push_back(file_sample(row.bytes));
  const std::vector<json> together = module->task().predict(samples, {});
  for (size_t i = 0; i < samples.size(); ++i) {
    INFO(i);
    const json alone = module->task().predict(std::span(samples).subspan(i, 1), {}).at(0);
    CHECK(compare_output(alone, together[i], 1e-5) == "");
    CHECK(alone.at("label") == rows[i].label);
    CHECK(alone.at("guess") == rows[i].guess);
    CHECK(alone.contains("mime"));
  }
}
