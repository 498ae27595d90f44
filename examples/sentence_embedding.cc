// Vectors in which what belongs together is near: a table with two columns of texts.
#include <hub/hub.h>

#include <iostream>

int main() {
  auto base = hub::load("minilm-l6");
  auto data = hub::read_table("related.csv",
                              {.text = "first", .pair = "second", .task = "sentence-embedding"});
  hub::Tuner tuner(base, {.task = "sentence-embedding"});
  tuner.fit(data.train, {.epochs = 1, .strategy = "lora"});
  std::cout << tuner.evaluate(data.test) << '\n';
  tuner.save("my-vectors@1.0.0");
}
