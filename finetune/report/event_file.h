// Event files for TensorBoard: scalars over steps and pieces of text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hub {

/// One new file in a folder, in the TFRecord framing. Times are seconds since 1970. Throws
/// Code::storage.
class EventFile {
 public:
  /// Goes on after `step` of an earlier file in the folder: TensorBoard forgets what that file says
  /// of later steps. A new run has step 0.
  EventFile(const std::string& folder, double time, int64_t step = 0);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  void scalar(std::string_view tag, int64_t step, double value, double time);
  /// Shown as Markdown.
  void text(std::string_view tag, std::string_view markdown, double time);
  /// Hands what was written to the kernel; also done when it ends. Call it at the evaluations.
  void flush();
  const std::string& path() const { return path_; }

 private:
  void record(std::string_view event);
  std::string path_, pending_;
  int file_ = -1;
};

}  // namespace hub
