// The bytes of event files. The golden is what the tensorboard package's own RecordWriter and Event
// messages make of the same events; the package reads it back as they were written.
#include <catch2/catch.hpp>

#include "base/file.h"
#include "finetune/report/event_file.h"
#include "tests/error_of.h"
#include "tests/scratch.h"

using namespace hub;

namespace {

std::string hex(std::string_view bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (char c : bytes) {
    text += digits[static_cast<uint8_t>(c) >> 4];
    text += digits[static_cast<uint8_t>(c) & 15];
  }
  return text;
}

}  // namespace

TEST_CASE("event file: the bytes of tensorboard's writer") {
  const Scratch folder;
  std::string path;
  {
    EventFile events(folder / "logs", 1700000000.5, 41);
    path = events.path();
    CHECK(path == folder / "logs/events.out.tfevents.1700000000.hub.0");
    events.scalar("loss/training", 1, 0.75, 1700000001);
    events.scalar("loss/training", 300, -1e-5, 1700000002);
    events.text("settings", "| batch | 16 |\n", 1700000003);
  }
  CHECK(hex(read_file(path)) ==
        "1800000000000000a37f4b220900002040fc54d9411a0d627261696e2e4576656e743a322b3531100f000000"
        "000000006d532b090900002040fc54d941102a3a020801cdf8b27d2300000000000000b09f77430900004040"
        "fc54d94110012a160a140a0d6c6f73732f747261696e696e67150000403f2a7d8c512400000000000000422b"
        "804d0900008040fc54d94110ac022a160a140a0d6c6f73732f747261696e696e6715acc527b72a5ea0173c00"
        "000000000000c8b7a352090000c040fc54d9412a310a2f0a0873657474696e67734219080712041202080142"
        "0f7c206261746368207c203136207c0a4a080a060a04746578748d284747");
}

TEST_CASE("event file: a second one of the same second, and long texts") {
  const Scratch folder;
  EventFile first(folder.path(), 7), second(folder.path(), 7);
  CHECK(first.path() == folder / "events.out.tfevents.0000000007.hub.0");
  CHECK(second.path() == folder / "events.out.tfevents.0000000007.hub.1");
  const size_t before = read_file(first.path()).size();
  first.text("long", std::string(100'000, 'x'), 8);
  const std::string bytes = read_file(first.path());  // without flush(): more than is kept back
  CHECK(bytes.size() > before + 100'000);
  // length, its checksum, time, summary (field 5) of 3 length bytes
  CHECK(hex(bytes.substr(before + 12, 13)).starts_with("0900000000000020402a"));
  const std::string file = folder.put("file", "");
  error_of(Code::storage, [&] { EventFile events(file + "/below", 7); });
}
