// Wire bytes after tensorflow/core/util/event.proto, framework/summary.proto and
// lib/io/record_writer.h; the few messages are written by hand.
#include "finetune/report/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>

#include "base/error.h"
#include "base/file.h"

namespace hub {
namespace {

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
    table[i] = crc;
  }
  return table;
}

/// CRC-32C, turned and shifted as TFRecord wants it.
uint32_t masked_crc(std::string_view bytes) {
  static constexpr auto table = make_crc_table();
  uint32_t crc = 0xffffffffU;
  for (char byte : bytes) crc = table[(crc ^ static_cast<uint8_t>(byte)) & 0xff] ^ (crc >> 8);
  return std::rotr(~crc, 15) + 0xa282ead8U;
}

template <class T>
void append_little_endian(std::string& out, T value) {
  for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

enum Wire : uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void append_key(std::string& out, uint32_t field, Wire wire) {
  append_varint(out, field << 3 | wire);
}

void append_number(std::string& out, uint32_t field, uint64_t value) {
  append_key(out, field, varint);
  append_varint(out, value);
}

void append_bytes(std::string& out, uint32_t field, std::string_view value) {
  append_key(out, field, bytes);
  append_varint(out, value.size());
  out += value;
}

/// The beginning of an Event. As in proto3, a step of 0 is not written.
std::string event_at(double time, int64_t step) {
  std::string event;
  append_key(event, 1, fixed64);
  append_little_endian(event, std::bit_cast<uint64_t>(time));
  if (step != 0) append_number(event, 2, static_cast<uint64_t>(step));
  return event;
}

void append_summary(std::string& event, std::string_view value) {
  std::string summary;
  append_bytes(summary, 1, value);
  append_bytes(event, 5, summary);
}

}  // namespace

EventFile::EventFile(const std::string& folder, double time, int64_t step) {
  make_folders(folder);
  // TensorBoard reads the files of a folder in the order of their names.
  std::string seconds = std::to_string(static_cast<int64_t>(time));
  seconds.insert(0, seconds.size() < 10 ? 10 - seconds.size() : 0, '0');
  for (int again = 0; file_ < 0; ++again) {
    path_ = concat(folder, "/events.out.tfevents.", seconds, ".hub.", again);
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) fail_errno("cannot write", path_);
  }
  std::string event = event_at(time, 0);
  append_bytes(event, 3, "brain.Event:2");
  record(event);
  if (step > 0) {
    event = event_at(time, step + 1);
    std::string session;
    append_number(session, 1, 1);  // SessionLog.status = START: forgets this step and later ones
    append_bytes(event, 7, session);
    record(event);
  }
  flush();
}

EventFile::~EventFile() {
  try {
    flush();
  } catch (const Error&) {
    // Nobody is left to be told; the calls before this one would have failed too.
  }
  ::close(file_);
}

void EventFile::record(std::string_view event) {
  std::string length;
  append_little_endian(length, uint64_t{event.size()});
  pending_ += length;
  append_little_endian(pending_, masked_crc(length));
  pending_ += event;
  append_little_endian(pending_, masked_crc(event));
  if (pending_.size() > (1U << 16)) flush();
}

void EventFile::scalar(std::string_view tag, int64_t step, double value, double time) {
  std::string entry;
  append_bytes(entry, 1, tag);
  append_key(entry, 2, fixed32);  // simple_value
  append_little_endian(entry, std::bit_cast<uint32_t>(static_cast<float>(value)));
  std::string event = event_at(time, step);
  append_summary(event, entry);
  record(event);
}

void EventFile::text(std::string_view tag, std::string_view markdown, double time) {
  std::string plugin, metadata, size, shape, tensor, entry;
  append_bytes(plugin, 1, "text");
  append_bytes(metadata, 1, plugin);
  append_number(size, 1, 1);
  append_bytes(shape, 2, size);
  append_number(tensor, 1, 7);  // DT_STRING
  append_bytes(tensor, 2, shape);
  append_bytes(tensor, 8, markdown);
  append_bytes(entry, 1, tag);
  append_bytes(entry, 8, tensor);
  append_bytes(entry, 9, metadata);
  std::string event = event_at(time, 0);
  append_summary(event, entry);
  record(event);
}

void EventFile::flush() {
  for (size_t done = 0; done < pending_.size();) {
    const ssize_t n = ::write(file_, pending_.data() + done, pending_.size() - done);
    if (n < 0 && errno != EINTR) fail_errno("cannot write", path_);
    if (n > 0) done += static_cast<size_t>(n);
  }
  pending_.clear();
}

}  // namespace hub
