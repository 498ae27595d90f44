// Names of persons and places in sentences: a token and its tag a line, as CoNLL has it.
#include <hub/hub.h>

#include <iostream>

int main() {
  auto base = hub::load("minilm-l6");
  auto data = hub::read_data("names.conll");
  hub::Tuner tuner(base, {.task = "sequence-labelling"});
  tuner.fit(data, {.epochs = 3, .strategy = "head"});
  std::cout << tuner.evaluate(data.test) << '\n';
  tuner.save("my-names@1.0.0");
}
