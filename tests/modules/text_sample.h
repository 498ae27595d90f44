// A text as a task takes it.
#pragma once

#include <string>

#include "modules/task.h"

inline hub::Sample text_sample(const std::string& text) {
  hub::Sample sample;
  sample.name = sample.text = text;
  return sample;
}
