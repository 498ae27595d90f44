// Answers to questions, as parts of a text: a file in the JSON of SQuAD.
#include <hub/hub.h>

#include <iostream>

int main() {
  auto base = hub::load("minilm-l6");
  auto data = hub::read_data("questions.json");
  hub::Tuner tuner(base, {.task = "reading-comprehension"});
  tuner.fit(data, {.epochs = 3, .strategy = "head"});
  std::cout << tuner.evaluate(data.test) << '\n';
  tuner.save("my-answers@1.0.0");
}
