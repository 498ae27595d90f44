// Whether two sentences say the same: a table with two columns of text and one of labels.
#include <hub/hub.h>

#include <iostream>

int main() {
  auto base = hub::load("minilm-l6");
  auto data = hub::read_table("pairs.csv", {.text = "first", .pair = "second", .label = "same"});
  hub::Tuner tuner(base, {.task = "text-classification"});
  tuner.fit(data.train, {.epochs = 3, .strategy = "head"});
  std::cout << tuner.evaluate(data.test) << '\n';
  tuner.save("my-pairs@1.0.0");
}
