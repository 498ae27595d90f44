// A task: what goes into a module's networks and what their numbers mean. run, verify, eval, serve
// and finetune all use the same one. One file a task under tasks/, one line in tasks.list.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/progress.h"
#include "modules/audio.h"
#include "modules/image.h"
#include "runtime/runtime.h"

namespace hub {

using json = nlohmann::json;

/// One input of a prediction.
struct Sample {
  std::string
      name;  ///< as the user gave it: a path or the text itself; "input" of the output contract
  std::string text;                      ///< of text tasks
  Image image;                           ///< of picture tasks
  std::string text_b = {};               ///< the second text of a pair; the question to a text
  std::vector<std::string> tokens = {};  ///< of tagged data: the parts of `text` that are tagged,
                                         ///< in order; empty: the task finds them
  Audio audio = {};                      ///< of tasks of sound, at the rate of its file
  MappedFile file = {};                  ///< of videos, decoded as they are watched, and of files
                                         ///< of any kind
  Image image_b = {};                    ///< the second picture: the style of the first
};

enum class InputKind { text, image, audio, video, file };

struct RunOptions {
  int top = 5;             ///< of classifications; at least 1
  bool pair = false;       ///< embeddings: two inputs give their similarity
  int length = 0;          ///< generation: tokens at most; 0: as the module says
  double temperature = 0;  ///< generation: 0 takes the likeliest token each time
  uint64_t seed = 0;       ///< generation: of what is drawn when the temperature is not 0
  /// Tasks that make pictures or sounds add them here, one a sample; null: nobody wants them.
  std::vector<Image>* pictures = nullptr;
  std::vector<Audio>* sounds = nullptr;
};

class Module;

/// Bound to one open module: made by its factory, owns tokenizers and labels. Throws Code::refused
/// when the manifest's preprocess or postprocess are not what the task reads (unknown keys
/// included).
class Task {
 public:
  virtual ~Task() = default;
  virtual InputKind input() const = 0;
  /// What goes with a sample where something does: text_b or image_b.
  virtual InputKind second() const { return InputKind::text; }
  /// What becomes of transparency when a picture for this task is decoded.
  virtual Alpha alpha() const { return Alpha::on_white; }
  /// The "output" of the output contract, one a sample, in order. A sample's result does not depend
  /// on its neighbours. Called by any threads at once.
  virtual std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) = 0;
  /// The inputs of network "main" for these samples, in its order, as predict makes them. Throws
  /// Code::unsupported for tasks that do not train; so does decode.
  virtual std::vector<Tensor> encode(std::span<const Sample> samples);
  /// The "output" of each sample from what the network gave for encode(samples).
  virtual std::vector<json> decode(std::span<const Sample> samples, std::span<const Tensor> outputs,
                                   const RunOptions& options);
  /// The tokens of encode's rows, first and last, in which code points [start, end) of the text
  /// lie; {0, 0} for no answer (start < 0), {-1, -1} where the text was cut before it. Tasks of
  /// spans.
  virtual std::pair<int64_t, int64_t> locate(const Sample& sample, int64_t start, int64_t end);
  /// The picture with the result drawn on it; pictures only.
  virtual Image draw(const Sample& sample, const json& output) const;
  /// Samples that predict best takes at once.
  virtual size_t batch() const { return 1; }
};

using TaskFactory = std::unique_ptr<Task> (*)(Module& module);

/// The factory of the task called so, or null. The list is tasks/tasks.list.
TaskFactory find_task(std::string_view name);

}  // namespace hub
