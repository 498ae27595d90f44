// A number for each review: a table with the columns review and score.
#include <hub/hub.h>

#include <iostream>

int main() {
  auto base = hub::load("minilm-l6");
  auto data =
      hub::read_table("scores.csv", {.text = "review", .label = "score", .task = "regression"});
  hub::Tuner tuner(base, {.task = "regression"});
  tuner.fit(data.train, {.epochs = 3, .strategy = "head"});
  std::cout << tuner.evaluate(data.test) << '\n';
  tuner.save("my-scores@1.0.0");
}
