// A task: what goes into a module's networks and what their numbers mean. run, verify, eval, serve
// and finetune all use the same one. One file a task under tasks/, one line in tasks.list.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "modules/image.h"
#include "runtime/runtime.h"

namespace hub {

using json = nlohmann::json;

/// One input of a prediction.
struct Sample {
  std::string
      name;  ///< as the user gave it: a path or the text itself; "input" of the output contract
  std::string text;  ///< of text tasks
  Image image;       ///< of picture tasks
};

enum class InputKind { text, image };

struct RunOptions {
  int top = 5;        ///< of classifications; at least 1
  bool pair = false;  ///< embeddings: two inputs give their similarity
};

class Module;

/// Bound to one open module: made by its factory, owns tokenizers and labels. Throws Code::refused
/// when the manifest's preprocess or postprocess are not what the task reads (unknown keys
/// included).
class Task {
 public:
  virtual ~Task() = default;
  virtual InputKind input() const = 0;
  /// The "output" of the output contract, one a sample, in order. A sample's result does not depend
  /// on its neighbours.
  virtual std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) = 0;
  /// The picture with the result drawn on it; pictures only.
  virtual Image draw(const Sample& sample, const json& output) const;
  /// Samples that predict best takes at once.
  virtual size_t batch() const { return 1; }
};

using TaskFactory = std::unique_ptr<Task> (*)(Module& module);

/// The factory of the task called so, or null. The list is tasks/tasks.list.
TaskFactory find_task(std::string_view name);

}  // namespace hub
