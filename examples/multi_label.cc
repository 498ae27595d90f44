// Messages with any number of topics: a table with a column of 0 and 1 for each topic.
#include <hub/hub.h>

#include <iostream>

int main() {
  auto base = hub::load("minilm-l6");
  auto data = hub::read_table("messages.csv", {.text = "message", .label = "food,travel,sport"});
  hub::Tuner tuner(base, {.task = "multi-label-classification"});
  tuner.fit(data.train, {.epochs = 3, .strategy = "head"});
  std::cout << tuner.evaluate(data.test) << '\n';
  tuner.save("my-topics@1.0.0");
}
